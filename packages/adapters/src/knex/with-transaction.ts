import { type Attempt, HoldfastError } from 'holdfast'
import { withTransaction as runWithTransaction, type TransactionOptions } from 'holdfast/sql'
import { runHosted } from '../hosted-connection.js'
import { createPool } from './pool.js'
import type { KnexClient, KnexInstance } from './types.js'

/**
 * Runs `fn` in a transaction of Knex on PostgreSQL (`client: 'pg'`). When it fails with a transient error, such as a
 * serialization failure, a deadlock or a lost connection, the whole transaction is retried, on another connection if the first
 * one is broken. At a deadline or an abort the running statement is cancelled on the server.
 *
 * If COMMIT was sent and no response was received, the call fails with COMMIT_UNKNOWN and is not retried, unless
 * `retryUnknownCommit` is set. A nested transaction is a savepoint, as always in Knex.
 *
 * @throws INVALID_OPTIONS for a Knex instance of another database, and for options that are not valid
 *
 * @example
 * ```ts no-run
 * import { withTransaction } from '@holdfast/adapters/knex'
 * import knex from 'knex'
 *
 * const db = knex({ client: 'pg', connection: 'postgres://localhost/shop' })
 *
 * const left = await withTransaction(
 *   db,
 *   async (trx) => {
 *     await trx('accounts').where({ id: 1 }).decrement('balance', 10)
 *     const account = await trx('accounts').where({ id: 1 }).first('balance')
 *     return account.balance
 *   },
 *   { isolation: 'serializable', timeout: { total: '5s' } },
 * )
 * ```
 */
export async function withTransaction<Trx, T, F = never>(
  knex: KnexInstance<Trx>,
  fn: (trx: Trx, attempt: Attempt) => T | PromiseLike<T>,
  options?: TransactionOptions<F>,
): Promise<T | F> {
  const client = knex.client as KnexClient
  if (client.driverName !== 'pg' || knex.isTransaction)
    throw new HoldfastError(
      'INVALID_OPTIONS',
      `expected a Knex instance with client pg, got ${knex.isTransaction ? 'a transaction' : client.driverName}`,
    )
  return runWithTransaction(
    createPool(client),
    ({ raw }, attempt) =>
      runHosted(raw, (connection) =>
        // A rollback without an error must reject too, or the transaction would be committed.
        knex.transaction(async (trx) => fn(trx, attempt), { connection, doNotRejectOnRollback: false }),
      ),
    options,
  )
}

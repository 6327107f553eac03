import { type Attempt, HoldfastError } from 'holdfast'
import {
  withTransaction as runWithTransaction,
  type TransactionClient,
  type TransactionOptions,
  type TransactionPool,
} from 'holdfast/sql'
import { type QueryConnection, runHosted } from '../hosted-connection.js'

/** The properties of a database of `drizzle-orm/node-postgres` that the adapter uses. `Tx` is the type of its transactions. */
export interface DrizzleDatabase<Tx> {
  /** The pool. */
  readonly $client: TransactionPool
  /** Its `session` sends all statements. */
  readonly _: object
  /** Runs a function in a transaction. */
  transaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T>
}

/** The session of a database: it sends all statements to its client. */
interface DrizzleSession {
  client: unknown
  transaction<T>(fn: (tx: never) => Promise<T>): Promise<T>
}

/** The session of a database on one connection. Schema, logger and cache are those of the database. */
const sessionOn = (db: DrizzleDatabase<unknown>, connection: unknown): DrizzleSession =>
  Object.create((db._ as { readonly session: DrizzleSession }).session, { client: { value: connection } })

/**
 * Runs `fn` in a transaction of Drizzle on `pg` (`drizzle-orm/node-postgres` with a pool). When it fails with a transient error,
 * such as a serialization failure, a deadlock or a lost connection, the whole transaction is retried, on another connection if
 * the first one is broken. At a deadline or an abort the running statement is cancelled on the server.
 *
 * If COMMIT was sent and no response was received, the call fails with COMMIT_UNKNOWN and is not retried, unless
 * `retryUnknownCommit` is set. `tx.rollback()` rolls back and is not retried; `tx.transaction()` is a savepoint.
 *
 * @throws INVALID_OPTIONS for a database without a pool, and for options that are not valid
 *
 * @example
 * ```ts no-run
 * import { withTransaction } from '@holdfast/adapters/drizzle'
 * import { eq, sql } from 'drizzle-orm'
 * import { drizzle } from 'drizzle-orm/node-postgres'
 * import { integer, pgTable } from 'drizzle-orm/pg-core'
 * import pg from 'pg'
 *
 * const accounts = pgTable('accounts', { id: integer().primaryKey(), balance: integer().notNull() })
 * const db = drizzle(new pg.Pool())
 *
 * await withTransaction(
 *   db,
 *   (tx) => tx.update(accounts).set({ balance: sql`${accounts.balance} - 10` }).where(eq(accounts.id, 1)),
 *   { isolation: 'serializable', timeout: { total: '5s' } },
 * )
 * ```
 */
export async function withTransaction<Tx, T, F = never>(
  db: DrizzleDatabase<Tx>,
  fn: (tx: Tx, attempt: Attempt) => T | PromiseLike<T>,
  options?: TransactionOptions<F>,
): Promise<T | F> {
  const pool: TransactionPool = db.$client
  // A single connection has `connect` too.
  if (!('totalCount' in Object(pool)))
    throw new HoldfastError('INVALID_OPTIONS', 'expected a Drizzle database with a pool of pg as its client')
  return runWithTransaction(
    pool,
    (client: TransactionClient, attempt) =>
      runHosted(client as TransactionClient & QueryConnection, (connection) =>
        sessionOn(db, connection).transaction(async (tx) => fn(tx, attempt)),
      ),
    options,
  )
}

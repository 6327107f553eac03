import type { Attempt } from '../attempt/attempt.js'
import { isHoldfastError } from '../errors.js'
import { guard } from '../guard/guard.js'
import { createUnknownCommitError, isUnknownCommit } from './commit.js'
import { parseTransactionOptions, type TransactionOptions } from './options.js'
import { type ClientOf, observePoolErrors, type TransactionPool } from './pool.js'
import { type CommitProgress, runTransaction } from './transaction.js'

/**
 * Runs `fn` in a transaction of `pg`: acquires a connection from the pool, begins, calls `fn` with it and commits. When that
 * fails it rolls back and, if the error is transient, retries the whole transaction on another connection. By default it
 * retries like the preset `postgres`. A broken connection is closed and not returned to the pool.
 *
 * If COMMIT was sent and no response was received, the transaction may have been committed: it is not retried but fails with
 * COMMIT_UNKNOWN, unless `retryUnknownCommit` declares that it can safely run twice.
 *
 * @throws INVALID_OPTIONS that lists all problems of the options
 *
 * @example
 * ```ts
 * import { withTransaction } from 'holdfast/sql'
 *
 * const log: string[] = []
 * const client = {
 *   query: async (text: string) => void log.push(text),
 *   release: () => void log.push('released'),
 *   on: () => {},
 *   removeListener: () => {},
 * }
 * const pool = { connect: async () => client } // new pg.Pool()
 *
 * await withTransaction(pool, (db) => db.query('UPDATE …'), { isolation: 'serializable' })
 * log // => ['BEGIN ISOLATION LEVEL SERIALIZABLE', 'UPDATE …', 'COMMIT', 'released']
 * ```
 */
export async function withTransaction<P extends TransactionPool, T, F = never>(
  pool: P,
  fn: (client: ClientOf<P>, attempt: Attempt) => T | PromiseLike<T>,
  options: TransactionOptions<F> = {},
): Promise<T | F> {
  const settings = parseTransactionOptions(options)
  const { retryUnknownCommit, runOptions } = settings
  const progress: CommitProgress = { isCommitting: false, isLate: false }
  const isUnknownOutcome = (error: unknown) =>
    !retryUnknownCommit && (isUnknownCommit(error) || progress.isLate)
  const { retry, name = '' } = settings.guard
  const guarded = guard(
    retry
      ? { ...settings.guard, retry: { ...retry, abortOn: [...(retry.abortOn ?? []), isUnknownOutcome] } }
      : settings.guard,
  )
  observePoolErrors(pool)
  try {
    const result = guarded.run((attempt) => runTransaction(pool, fn, settings, attempt, progress), runOptions)
    return await (result as Promise<T | F>)
  } catch (error) {
    // A deadline passed while the COMMIT was running.
    if (progress.isLate && isHoldfastError(error) && error.code.endsWith('_TIMEOUT'))
      throw createUnknownCommitError(name, error)
    throw error
  }
}

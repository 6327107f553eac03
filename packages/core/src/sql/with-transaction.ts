import { isHoldfastError } from '../errors.js'
import type { Attempt } from '../execution/attempt.js'
import { guard } from '../guard/guard.js'
import { createUnknownCommitError, isUnknownCommit } from './commit.js'
import { parseTransactionOptions, type TransactionOptions } from './options.js'
import { type ClientOf, observePoolErrors, type TransactionPool } from './pool.js'
import { type CommitProgress, runTransaction } from './transaction.js'

/**
 * Runs `fn` in a transaction of `pg`: takes a connection from the pool, begins, calls `fn` with it and commits. When that
 * fails it rolls back and, where the error may pass, runs the whole transaction again on another connection: never a part
 * of it. By default it retries as the preset `postgres` does. A connection that broke is closed, not given back.
 *
 * A transaction whose COMMIT was sent and not answered may have been committed: it is not run again but ends with
 * COMMIT_UNKNOWN, unless `retryUnknownCommit` says that running it twice does no harm.
 *
 * @throws INVALID_OPTIONS that lists everything wrong with the options
 *
 * @example
 * ```ts
 * import { withTransaction } from 'holdfast/sql'
 *
 * const said: string[] = []
 * const client = {
 *   query: async (text: string) => void said.push(text),
 *   release: () => void said.push('released'),
 *   on: () => {},
 *   removeListener: () => {},
 * }
 * const pool = { connect: async () => client } // new pg.Pool()
 *
 * await withTransaction(pool, (db) => db.query('UPDATE …'), { isolation: 'serializable' })
 * said // => ['BEGIN ISOLATION LEVEL SERIALIZABLE', 'UPDATE …', 'COMMIT', 'released']
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
    // A deadline passed while COMMIT was under way.
    if (progress.isLate && isHoldfastError(error) && error.code.endsWith('_TIMEOUT'))
      throw createUnknownCommitError(name, error)
    throw error
  }
}

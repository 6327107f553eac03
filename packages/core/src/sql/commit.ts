import { sqlStateOf } from '../classify/sql.js'
import { HoldfastError, isHoldfastError } from '../errors.js'
import type { TransactionClient } from './pool.js'

const ROLLED_BACK_MESSAGE =
  'the transaction was rolled back: a statement in it failed, though its function went on'

/** Commits. A transaction in which a statement failed is rolled back by the database, without an error of its own. */
export async function commitTransaction(client: TransactionClient): Promise<void> {
  const result = (await client.query('COMMIT')) as { command?: unknown } | undefined
  if (result?.command === 'ROLLBACK') throw new Error(ROLLED_BACK_MESSAGE)
}

/** Whether a statement never left: what `pg` answers to each after the connection was lost. */
export const wasNotSent = (error: unknown): boolean =>
  error instanceof Error && error.message.endsWith('is not queryable')

/**
 * Whether it is certain that a COMMIT that failed did not commit: it never left, or the database refused it. Where the
 * connection was lost or the server was going down, it may have been committed before.
 */
export function wasNotCommitted(error: unknown): boolean {
  const state = Object(error) === error ? sqlStateOf(error as never) : undefined
  if (state === undefined) return wasNotSent(error) || isRolledBack(error)
  return state === '57014' || !/^(08|57|58|XX)/.test(state)
}

const isRolledBack = (error: unknown) => error instanceof Error && error.message === ROLLED_BACK_MESSAGE

/**
 * An error for a transaction that may have been committed. It has no cause, through which an enclosing retry would see a
 * lost connection and run the transaction again.
 */
export function createUnknownCommitError(name: string, error: unknown): HoldfastError {
  const lost = error instanceof Error ? error.message : String(error)
  return new HoldfastError(
    'COMMIT_UNKNOWN',
    `${name} may have been committed or not: its COMMIT was sent and never answered (${lost}). It was not run again; ` +
      'look at the data, or give retryUnknownCommit: true where running it twice does no harm',
    { details: [lost] },
  )
}

export const isUnknownCommit = (error: unknown): boolean => isHoldfastError(error, 'COMMIT_UNKNOWN')

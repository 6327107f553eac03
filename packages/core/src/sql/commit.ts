import { sqlStateOf } from '../classify/sql.js'
import { HoldfastError, isHoldfastError } from '../errors.js'
import type { TransactionClient } from './pool.js'

/** Errors of transactions that the database rolled back at the COMMIT. */
const rolledBackErrors = new WeakSet<object>()

function createRolledBackError(): Error {
  const error = new Error(
    'the transaction was rolled back: a statement failed, but its error was not thrown by the function',
  )
  rolledBackErrors.add(error)
  return error
}

/** Commits. The database rolls back a transaction in which a statement failed, but reports no error for the COMMIT. */
export async function commitTransaction(client: TransactionClient): Promise<void> {
  const result = (await client.query('COMMIT')) as { command?: unknown } | undefined
  if (result?.command === 'ROLLBACK') throw createRolledBackError()
}

/** Whether a statement was not sent: the error of `pg` for each statement after the connection was lost. */
export const wasStatementNotSent = (error: unknown): boolean =>
  error instanceof Error && error.message.endsWith('is not queryable')

/**
 * Whether a failed COMMIT certainly did not commit: it was not sent, or the database rejected it. If the connection was lost
 * or the server was shutting down, the commit can have happened before.
 */
export function wasNotCommitted(error: unknown): boolean {
  const state = Object(error) === error ? sqlStateOf(error as never) : undefined
  if (state === undefined) return wasStatementNotSent(error) || isRolledBack(error)
  return state === '57014' || !/^(08|57|58|XX)/.test(state)
}

const isRolledBack = (error: unknown) => error instanceof Error && rolledBackErrors.has(error)

/**
 * The error of a transaction that may have been committed. It has no cause, because an enclosing retry would classify a lost
 * connection as transient and run the transaction again.
 */
export function createUnknownCommitError(name: string, error: unknown): HoldfastError {
  const lost = error instanceof Error ? error.message : String(error)
  return new HoldfastError(
    'COMMIT_UNKNOWN',
    `${name} may or may not have been committed: its COMMIT was sent, but not answered (${lost}). It was not retried; ` +
      'check the data, or set retryUnknownCommit: true if the transaction can safely run twice',
    { details: [lost] },
  )
}

export const isUnknownCommit = (error: unknown): boolean => isHoldfastError(error, 'COMMIT_UNKNOWN')

import { hashOf } from '../../text.js'

export const BEGIN_READ = 'BEGIN READ ONLY'
export const BEGIN_WRITE = 'BEGIN'
export const COMMIT = 'COMMIT'
export const ROLLBACK = 'ROLLBACK'

/** The statements at the beginning of a transaction: its limits of time, whether it is durable, and its lock. */
export function beginTransaction(
  begin: string,
  options: { statementTimeout: number; idleTimeout: number; durable: boolean; lock: string | undefined },
): string {
  const { statementTimeout, idleTimeout, durable, lock } = options
  const statements = [
    begin,
    `SET LOCAL statement_timeout = ${statementTimeout}`,
    `SET LOCAL lock_timeout = ${statementTimeout}`,
    // A disconnected client does not hold its locks longer than this.
    `SET LOCAL idle_in_transaction_session_timeout = ${idleTimeout}`,
  ]
  if (!durable) statements.push('SET LOCAL synchronous_commit = off')
  if (lock !== undefined) statements.push(lock)
  return statements.join('; ')
}

/** Acquires an advisory lock of a schema until the end of the transaction. */
export const acquireLock = (schema: string, number: number, isShared: boolean): string =>
  `SELECT pg_advisory_xact_lock${isShared ? '_shared' : ''}(${hashOf(`holdfast:${schema}`)}, ${number})`

/** The channel of notifications about replay requests. */
export const requestsChannel = (schema: string): string => `holdfast_${schema}_requests`

export const listenForRequests = (schema: string): string => `LISTEN "${requestsChannel(schema)}"`

/** Values: the channel and the payload. */
export const NOTIFY = 'SELECT pg_notify($1, $2)'

import { HoldfastError, isHoldfastError } from 'holdfast'

const UNREACHABLE_HINT = 'it cannot be reached; see whether the server runs and the address is right'
const REJECTED_USER_HINT = 'it refuses the user; check the name and the password in the url'

/** By SQLSTATE, by its class, or by the code of the system's error. */
const HINT_BY_CODE: Record<string, string> = {
  ECONNREFUSED: UNREACHABLE_HINT,
  ENOTFOUND: UNREACHABLE_HINT,
  EHOSTUNREACH: UNREACHABLE_HINT,
  ETIMEDOUT: UNREACHABLE_HINT,
  CIRCUIT_OPEN: 'it failed lately and is left alone for a moment',
  BULKHEAD_FULL: 'too much waits for it',
  '28': REJECTED_USER_HINT,
  '3D000': 'there is no such database; create it first',
  '42501': 'the user may not do this; grant CREATE on the database, or on the schema once it is there',
  '42P01': 'a table is missing; somebody dropped it',
  '53': 'it has no room left: connections, memory or disk',
  '57014': 'a statement took too long and was ended',
  '25006': 'it takes no writes: it is a standby, or set to read only',
}

function errorCode(error: unknown): string {
  const { code } = Object(error) as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

/** The SQLSTATE of an error that the server reported; undefined where it is none. */
export function sqlState(error: unknown): string | undefined {
  const code = errorCode(error)
  return /^[0-9A-Z]{5}$/.test(code) && 'severity' in Object(error) ? code : undefined
}

/**
 * Whether the server works and cannot hold what it was given: a value it cannot represent (class 22), a constraint that
 * the row violates (23, 44), a row beyond its limits (54). Storing the same again would fail again.
 */
export const isDataError = (error: unknown): boolean => /^(22|23|44|54)/.test(sqlState(error) ?? '')

/**
 * Whether a write failed because of the server as a whole, so that any other write would fail too: it gave no answer, the
 * connection broke (08), it accepts no writes (25006), no login (28), has no such database (3D) or shuts down (57P).
 */
export function isServerUnavailable(error: unknown): boolean {
  const state = sqlState(error) ?? sqlState((error as { cause?: unknown } | undefined)?.cause)
  return state === undefined || /^(08|25006|28|3D|57P)/.test(state)
}

/** Whether a statement was ended for its length: doing it again would take as long. */
export const isStatementTimeout = (error: unknown): boolean => sqlState(error) === '57014'

/** The error that a caller gets: what is wrong with which server, and what to do. */
export function createUnavailableError(displayName: string, error: unknown): HoldfastError {
  if (isHoldfastError(error) && (error.code === 'STORE_UNAVAILABLE' || error.code === 'INVALID_OPTIONS'))
    return error
  const code = errorCode(error)
  const why = HINT_BY_CODE[code] ?? HINT_BY_CODE[code.slice(0, 2)] ?? 'it failed'
  const detail = error instanceof Error ? error.message || code : String(error)
  const { retryAfter } = Object(error) as { retryAfter?: number }
  return new HoldfastError('STORE_UNAVAILABLE', `the PostgreSQL store ${displayName}: ${why} (${detail})`, {
    cause: error,
    status: 503,
    ...(typeof retryAfter === 'number' ? { retryAfter } : {}),
  })
}

export const createNotOpenError = (displayName: string): HoldfastError =>
  new HoldfastError('STORE_UNAVAILABLE', `the PostgreSQL store ${displayName} is not open; open it first`, {
    status: 503,
  })

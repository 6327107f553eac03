import { HoldfastError, isHoldfastError } from 'holdfast'

const UNREACHABLE_HINT =
  'it cannot be reached; check that the server is running and that the address is correct'
const REJECTED_USER_HINT = 'it rejects the user; check the name and the password in the url'

/** Hints by SQLSTATE, by its class, or by the code of a system error. */
const HINT_BY_CODE: Record<string, string> = {
  ECONNREFUSED: UNREACHABLE_HINT,
  ENOTFOUND: UNREACHABLE_HINT,
  EHOSTUNREACH: UNREACHABLE_HINT,
  ETIMEDOUT: UNREACHABLE_HINT,
  CIRCUIT_OPEN: 'it failed repeatedly, and its breaker is open',
  BULKHEAD_FULL: 'too many operations are queued',
  '28': REJECTED_USER_HINT,
  '3D000': 'there is no such database; create it first',
  '42501': 'the user has no permission; grant CREATE on the database, or on the schema if it exists',
  '42P01': 'a table is missing; it was dropped',
  '53': 'it has no connections, memory or disk space left',
  '57014': 'a statement took too long and was canceled',
  '25006': 'it accepts no writes: it is a standby, or read-only',
}

function errorCode(error: unknown): string {
  const { code } = Object(error) as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

/** The SQLSTATE of an error that the server reported; undefined for other errors. */
export function sqlState(error: unknown): string | undefined {
  const code = errorCode(error)
  return /^[0-9A-Z]{5}$/.test(code) && 'severity' in Object(error) ? code : undefined
}

/**
 * Whether the server works and cannot store the data: a value that it cannot represent (class 22), a violated constraint (23,
 * 44), a row beyond its limits (54). A retry would fail again.
 */
export const isDataError = (error: unknown): boolean => /^(22|23|44|54)/.test(sqlState(error) ?? '')

/**
 * Whether a write failed because of the server as a whole, so that any other write would fail too: there was no reply, the
 * connection broke (08), the server accepts no writes (25006) or no login (28), has no such database (3D) or shuts down (57P).
 */
export function isServerUnavailable(error: unknown): boolean {
  const state = sqlState(error) ?? sqlState((error as { cause?: unknown } | undefined)?.cause)
  return state === undefined || /^(08|25006|28|3D|57P)/.test(state)
}

/** Whether a statement was canceled because it took too long. A retry would take as long. */
export const isStatementTimeout = (error: unknown): boolean => sqlState(error) === '57014'

/** Wraps an error of the database: which server failed, why, and what to do. */
export function createUnavailableError(displayName: string, error: unknown): HoldfastError {
  if (isHoldfastError(error) && (error.code === 'STORE_UNAVAILABLE' || error.code === 'INVALID_OPTIONS'))
    return error
  const code = errorCode(error)
  const reason = HINT_BY_CODE[code] ?? HINT_BY_CODE[code.slice(0, 2)] ?? 'it failed'
  const detail = error instanceof Error ? error.message || code : String(error)
  const { retryAfter } = Object(error) as { retryAfter?: number }
  return new HoldfastError(
    'STORE_UNAVAILABLE',
    `the PostgreSQL store ${displayName}: ${reason} (${detail})`,
    {
      cause: error,
      status: 503,
      ...(typeof retryAfter === 'number' ? { retryAfter } : {}),
    },
  )
}

export const createNotOpenError = (displayName: string): HoldfastError =>
  new HoldfastError('STORE_UNAVAILABLE', `the PostgreSQL store ${displayName} is not open; open it first`, {
    status: 503,
  })

import { HoldfastError, isHoldfastError } from 'holdfast'

/** SQLite's primary result codes that are told apart here. */
const SQLITE_BUSY = 5
const SQLITE_LOCKED = 6

const LOCKED_HINT = 'another process has held its lock for too long; see who else uses it, then try again'
const FORBIDDEN_HINT = 'it cannot be written to; make the file and its folder writable for this user'
const DISK_FULL_HINT = 'the disk is full; make room, then try again: nothing that was acknowledged is lost'
const CANNOT_OPEN_HINT =
  'it cannot be opened; check that its folder is one, and that this user may write in it'

/** By SQLite's result code, or by the code of the system's error. */
const HINT_BY_CODE: Record<number | string, string> = {
  EACCES: FORBIDDEN_HINT,
  EPERM: FORBIDDEN_HINT,
  EROFS: FORBIDDEN_HINT,
  ENOSPC: DISK_FULL_HINT,
  EDQUOT: DISK_FULL_HINT,
  ENOTDIR: CANNOT_OPEN_HINT,
  EEXIST: CANNOT_OPEN_HINT,
  ENOENT: CANNOT_OPEN_HINT,
  3: FORBIDDEN_HINT,
  5: LOCKED_HINT,
  6: LOCKED_HINT,
  8: FORBIDDEN_HINT,
  10: 'the disk failed to read or write; see to the disk, then try again',
  11: damagedHint('it is damaged'),
  13: DISK_FULL_HINT,
  14: CANNOT_OPEN_HINT,
  26: damagedHint('it is no SQLite database, or it is damaged'),
}

function damagedHint(what: string): string {
  return (
    `${what}; move it away together with its -wal and -shm files, then put a backup in its place or let a new one be ` +
    'made. `sqlite3 FILE .recover` saves what can still be read'
  )
}

/** SQLite's primary result code behind an error of either driver; undefined where there is none. */
function resultCode(error: unknown): number | undefined {
  const { errcode, rawCode, message } = Object(error) as {
    errcode?: unknown
    rawCode?: unknown
    message?: unknown
  }
  const code = errcode ?? rawCode
  // An extended code has its primary one in the lowest byte.
  if (typeof code === 'number') return code & 0xff
  // Failing to open, libsql tells the code in words only.
  const told = /^ConnectionFailed\(".*: (\d+)"\)$/s.exec(String(message))?.[1]
  return told === undefined ? undefined : Number(told) & 0xff
}

/** Whether it is only that somebody else is writing. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error)
  return code === SQLITE_BUSY || code === SQLITE_LOCKED
}

/** Failures of a file that a new connection does not have once the file was replaced or can be written to: READONLY, IOERR,
 * CORRUPT, CANTOPEN and NOTADB. */
const CURABLE = new Set<number | undefined>([8, 10, 11, 14, 26])

/** Whether a new connection may not fail so. */
export const canReconnect = (error: unknown): boolean => CURABLE.has(resultCode(error))

/** The error that a caller gets: what is wrong with which file, and what to do. */
export function createUnavailableError(file: string, error: unknown): HoldfastError {
  if (isHoldfastError(error)) return error
  const { code } = Object(error) as { code?: unknown }
  const why = HINT_BY_CODE[resultCode(error) ?? String(code)] ?? 'it failed'
  const detail = error instanceof Error ? error.message : String(error)
  return new HoldfastError('STORE_UNAVAILABLE', `the SQLite store ${file}: ${why} (${detail})`, {
    cause: error,
    status: 503,
    ...(isBusy(error) ? { retryAfter: 1000 } : {}),
  })
}

import { HoldfastError, isHoldfastError } from 'holdfast'

/** Primary result codes of SQLite. */
const SQLITE_BUSY = 5
const SQLITE_LOCKED = 6

const LOCKED_HINT = 'another process has held its lock for too long; check which one uses it, then retry'
const FORBIDDEN_HINT = 'it cannot be written; make the file and its folder writable for this user'
const DISK_FULL_HINT = 'the disk is full; free some space, then retry: no acknowledged change is lost'
const CANNOT_OPEN_HINT =
  'it cannot be opened; check that its folder is a folder, and that this user can write to it'

/** Hints by the result code of SQLite, or by the code of a system error. */
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
  10: 'the disk failed to read or write; check the disk, then retry',
  11: damagedHint('it is damaged'),
  13: DISK_FULL_HINT,
  14: CANNOT_OPEN_HINT,
  26: damagedHint('it is not a SQLite database, or it is damaged'),
}

function damagedHint(problem: string): string {
  return (
    `${problem}; move it away together with its -wal and -shm files, then restore a backup or start with a new file. ` +
    '`sqlite3 FILE .recover` saves the readable part'
  )
}

/** The primary result code of SQLite in an error of either driver; undefined if there is none. */
function resultCode(error: unknown): number | undefined {
  const { errcode, rawCode, message } = Object(error) as {
    errcode?: unknown
    rawCode?: unknown
    message?: unknown
  }
  const code = errcode ?? rawCode
  // An extended code has its primary one in the lowest byte.
  if (typeof code === 'number') return code & 0xff
  // When it cannot open a file, libsql reports the code only in the message.
  const codeText = /^ConnectionFailed\(".*: (\d+)"\)$/s.exec(String(message))?.[1]
  return codeText === undefined ? undefined : Number(codeText) & 0xff
}

/** Whether the operation failed only because another process has the lock. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error)
  return code === SQLITE_BUSY || code === SQLITE_LOCKED
}

/**
 * Errors that a new connection does not have once the file was replaced or can be written: READONLY, IOERR, CORRUPT, CANTOPEN and
 * NOTADB.
 */
const RECONNECTABLE_CODES = new Set<number | undefined>([8, 10, 11, 14, 26])

/** Whether a new connection may succeed. */
export const canReconnect = (error: unknown): boolean => RECONNECTABLE_CODES.has(resultCode(error))

/** Wraps an error of SQLite: which file failed, why, and what to do. */
export function createUnavailableError(file: string, error: unknown): HoldfastError {
  if (isHoldfastError(error)) return error
  const { code } = Object(error) as { code?: unknown }
  const reason = HINT_BY_CODE[resultCode(error) ?? String(code)] ?? 'it failed'
  const detail = error instanceof Error ? error.message : String(error)
  return new HoldfastError('STORE_UNAVAILABLE', `the SQLite store ${file}: ${reason} (${detail})`, {
    cause: error,
    status: 503,
    ...(isBusy(error) ? { retryAfter: 1000 } : {}),
  })
}

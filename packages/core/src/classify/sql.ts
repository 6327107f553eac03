import { type Classification, type ErrorLike } from './classification.js'
import { byCode } from './error-codes.js'

/** The SQLSTATE classes of databases. Other libraries, such as Prisma, have codes of five characters that are not SQLSTATEs. */
const SQLSTATE_PATTERN = /^(\d[\dA-Z]|F0|H[VWYZ]|IM|P0|XX)[\dA-Z]{3}$/

/** The SQLSTATE for an error number of MySQL and MariaDB, whose own SQLSTATE is mostly the unspecific HY000. */
const SQLSTATE_BY_MYSQL_ERRNO: { readonly [errno: number]: string } = {
  1040: '53300',
  1205: '55P03',
  1213: '40001',
  2006: '08006',
  2013: '08006',
}

/** The SQLSTATE for a primary result code of SQLite, by name and by number. */
const SQLSTATE_BY_SQLITE_CODE: { readonly [code: string]: string } = {
  BUSY: '55P03',
  5: '55P03',
  LOCKED: '55P03',
  6: '55P03',
  READONLY: '42501',
  8: '42501',
  FULL: '53100',
  13: '53100',
  CONSTRAINT: '23000',
  19: '23000',
}

/** Returns the SQLSTATE of an error: `sqlState` of MySQL's drivers, `code` of PostgreSQL's. A single character is not a SQLSTATE. */
function ownSqlState({ sqlState, code }: ErrorLike): string | undefined {
  if (typeof sqlState === 'string' && sqlState.length > 1) return sqlState
  return typeof code === 'string' && SQLSTATE_PATTERN.test(code) ? code : undefined
}

/** Returns the SQLSTATE that describes the error, where a database reported it. */
export function sqlStateOf(error: ErrorLike): string | undefined {
  const { code, errno } = error
  const state = (typeof errno === 'number' ? SQLSTATE_BY_MYSQL_ERRNO[errno] : undefined) ?? ownSqlState(error)
  if (state !== undefined || typeof code !== 'string') return state
  const [, sqlite] = /^(?:ERR_)?SQLITE_([A-Z]+)/.exec(code) ?? []
  // node:sqlite only has a number, whose low byte is the primary code.
  return (
    sqlite &&
    (SQLSTATE_BY_SQLITE_CODE[sqlite] ?? SQLSTATE_BY_SQLITE_CODE[(error.errcode as number) & 255] ?? 'XX000')
  )
}

/** Classifies a database's error; undefined for any other error. Network codes must be classified before. */
export function bySqlState(error: ErrorLike): Classification | undefined {
  const state = sqlStateOf(error)
  if (state === undefined) return undefined
  const classification = byCode(`sql:${state}`)
  const sqlState = ownSqlState(error)
  return classification && sqlState !== undefined ? { ...classification, sqlState } : classification
}

import { placeholders } from './parameters.js'

/** A condition on columns, with the values of its parameters. */
export type SqlCondition = readonly [sql: string, ...values: (string | number)[]]

/** The number of the newest record of a table, even if it has been deleted. */
export const SELECT_NEWEST_SEQ = 'SELECT seq FROM sqlite_sequence WHERE name = ?'

/** Inserts a row of a journal. `valueCount` is the number of its columns. */
export const insertRow = (table: string, valueCount: number): string =>
  `INSERT INTO ${table} VALUES (${placeholders(valueCount)})`

/** The numbers of the last records in the first and in the last row. */
export const selectBounds = (table: string): string =>
  `SELECT (SELECT min(last) FROM ${table}) AS lowest, (SELECT max(last) FROM ${table}) AS highest`

/**
 * Some columns of rows with records from a number up to another, that match conditions. The last value is the largest number of
 * rows.
 */
export const selectRows = (
  table: string,
  columns: 'first, last' | 'first, last, body',
  conditions: readonly SqlCondition[],
  isNewestFirst: boolean,
): string => `SELECT ${columns} FROM ${table} WHERE last >= ? AND last < ? AND first < ?
  ${conditions.map(([condition]) => `AND ${condition} `).join('')}
  ORDER BY last ${isNewestFirst ? 'DESC' : 'ASC'} LIMIT ?`

/** The row with a record, or the one after it. */
export const selectRowFrom = (table: string): string =>
  `SELECT first, last, body FROM ${table} WHERE last >= ? ORDER BY last LIMIT 1`

/** All columns of the rows between two last numbers. */
export const selectWholeRows = (table: string): string =>
  `SELECT * FROM ${table} WHERE last >= ? AND last <= ? ORDER BY last`

/** The number of records in the next rows, and the last number among them. */
export const countRecords = (table: string, limit: number): string =>
  `SELECT sum(entries) AS n, max(last) AS last FROM
    (SELECT entries, last FROM ${table} WHERE last > ? ORDER BY last LIMIT ${limit})`

export const selectNewestFirst = (table: string, limit: number): string =>
  `SELECT last, entries FROM ${table} WHERE last < ? ORDER BY last DESC LIMIT ${limit}`

/** Rows with a record older than a time, after a row. */
export const selectRowsWithOlder = (table: string, limit: number): string =>
  `SELECT last FROM ${table} WHERE last > ? AND oldest < ? ORDER BY last LIMIT ${limit}`

/** Rows in which the column is below a value. */
export const selectRowsBelow = (table: string, column: 'last' | 'newest', limit: number): string =>
  `SELECT last, entries FROM ${table} WHERE ${column} < ?1 ORDER BY last LIMIT ${limit}`

export const selectLastNumber = (table: string): string => `SELECT max(last) AS last FROM ${table}`

/** The oldest rows up to a number that are not compressed. */
export const selectUncompressed = (table: string, limit: number): string =>
  `SELECT * FROM ${table}
    WHERE last <= ? AND typeof(body) = 'text' ORDER BY last LIMIT ${limit}`

/** Values: entries, oldest, newest, body, last. */
export const updateRow = (table: string): string =>
  `UPDATE ${table} SET entries = ?, oldest = ?, newest = ?, body = ? WHERE last = ?`

export const updateBody = (table: string): string => `UPDATE ${table} SET body = ? WHERE last = ?`

export const deleteRow = (table: string): string => `DELETE FROM ${table} WHERE last = ?`

export const deleteRowsBetween = (table: string): string =>
  `DELETE FROM ${table} WHERE last >= ? AND last <= ?`

/** Values: a session id and the number of its record, repeated. */
export const insertSessionIdRows = (rows: number): string =>
  `INSERT OR REPLACE INTO session_ids VALUES ${Array(rows).fill('(?, ?)').join(', ')}`

export const SELECT_SESSION_SEQ = 'SELECT max(seq) AS seq FROM session_ids WHERE session_id = ?'

export const SELECT_SESSION_IDS = 'SELECT first, session_ids AS ids FROM sessions WHERE last = ?'

export const DELETE_SESSION_ID = 'DELETE FROM session_ids WHERE session_id = ? AND seq = ?'

/** Deletes the ids of the sessions in a row whose own list of ids is damaged. Both values are the number of the row. */
export const DELETE_SESSION_IDS_OF_ROW = `DELETE FROM session_ids
  WHERE seq > ifnull((SELECT max(last) FROM sessions WHERE last < ?), 0) AND seq <= ?`

/** Deletes the ids of the sessions in a row. */
export const DELETE_SESSION_IDS =
  'DELETE FROM session_ids WHERE session_id IN (SELECT value FROM json_each(?)) AND seq BETWEEN ? AND ?'

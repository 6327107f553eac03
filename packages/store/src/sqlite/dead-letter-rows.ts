import { type DeadLetter, reviveDeadLetter } from '@holdfast/records'
import { columnValues } from '../dead-letter-columns.js'
import { parseOrUndefined } from '../readable-rows.js'
import { fromColumn, hashOf, toColumn } from '../text.js'
import type { SqliteConnection } from './connection.js'
import {
  ADD_TO_COUNT,
  CHANGING_COLUMNS,
  INSERT_PROCESSED,
  SELECT_BY_ID,
  SELECT_BY_KEY,
  SELECT_BY_SEQ,
  UPDATE_ENTRY,
} from './statements/dead-letters.js'

interface SqliteDeadLetterRow {
  seq: number
  lease_owner: string | null
  entry: string
  original_payload: string
}

/** A stored entry, with the owner of its lease. Its number is the order of insertion. */
export interface StoredDeadLetter {
  seq: number
  owner: string | null
  entry: DeadLetter
}

const CHANGING = Object.values(CHANGING_COLUMNS)

export function fromRow({
  seq,
  lease_owner,
  entry,
  original_payload,
}: SqliteDeadLetterRow): StoredDeadLetter {
  const wire = JSON.parse(entry) as object
  const payload: unknown = JSON.parse(original_payload)
  const owner = lease_owner === null ? null : fromColumn(lease_owner)
  return { seq, owner, entry: reviveDeadLetter({ ...wire, original_payload: payload }) }
}

/** The entries at positions, in the same order; undefined for a damaged row. */
export const readEntries = (
  sql: SqliteConnection,
  positions: readonly { seq: number }[],
): (StoredDeadLetter | undefined)[] =>
  sql
    .all<SqliteDeadLetterRow>(SELECT_BY_SEQ, JSON.stringify(positions.map(({ seq }) => seq)))
    .map((row) => parseOrUndefined(row, fromRow))

export function findById(sql: SqliteConnection, id: string): StoredDeadLetter | undefined {
  const row = sql.get<SqliteDeadLetterRow>(SELECT_BY_ID, toColumn(id))
  return row && readRow(row)
}

/** @throws where the row is damaged, without its text, which may contain a payload */
function readRow(row: SqliteDeadLetterRow): StoredDeadLetter {
  const stored = parseOrUndefined(row, fromRow)
  if (stored === undefined) throw new Error(`the row ${row.seq} of dead_letters is damaged`)
  return stored
}

export function findByKey(sql: SqliteConnection, key: string): StoredDeadLetter | undefined {
  const row = sql.get<SqliteDeadLetterRow>(SELECT_BY_KEY, hashOf(key), toColumn(key))
  return row && readRow(row)
}

/** Adds to the number of entries of an operation and status. */
export function addToCount(sql: SqliteConnection, operation: string, status: string, entries: number): void {
  sql.run(ADD_TO_COUNT, toColumn(operation), status, entries)
}

/** Replaces a stored entry except for its payload. */
export function replaceEntry(
  sql: SqliteConnection,
  stored: StoredDeadLetter,
  entry: DeadLetter,
  owner: string | null,
): DeadLetter {
  sql.run(UPDATE_ENTRY, ...columnValues(CHANGING, entry, owner), stored.seq)
  if (entry.status !== stored.entry.status) {
    addToCount(sql, entry.operationType, stored.entry.status, -1)
    addToCount(sql, entry.operationType, entry.status, 1)
  }
  if (entry.status === 'completed') insertProcessed(sql, entry)
  return entry
}

export function insertProcessed(sql: SqliteConnection, { dlqId, replayedAt, lastAttempt }: DeadLetter): void {
  sql.run(INSERT_PROCESSED, toColumn(dlqId), (replayedAt ?? lastAttempt).getTime())
}

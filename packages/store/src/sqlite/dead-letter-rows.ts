import type { DeadLetter, DeadLetterStatus } from '@holdfast/records'
import { columnValues } from '../dead-letter-columns.js'
import { completedAt } from '../dead-letter-rules.js'
import { serializePayload } from '../payload.js'
import { parseOrUndefined } from '../readable-rows.js'
import { reviveStoredDeadLetter } from '../stored-dead-letter.js'
import { fromColumn, hashOf, toColumn } from '../text.js'
import type { SqliteConnection } from './connection.js'
import {
  ADD_TO_COUNT,
  CHANGING_COLUMNS,
  DELETE_ENTRY,
  INSERT_PROCESSED,
  SELECT_BY_ID,
  SELECT_BY_KEY,
  SELECT_BY_SEQ,
  SELECT_SEQ,
  SELECT_STATUS,
  UPDATE_ENTRY,
  UPDATE_PAYLOAD,
} from './statements/dead-letters.js'
import type { WriteQueue } from './write-queue.js'

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
  return { seq, owner, entry: reviveStoredDeadLetter({ ...wire, original_payload: payload }) }
}

/** Parses a row; undefined if it is damaged, which is reported. */
function parseRow(writes: WriteQueue, row: SqliteDeadLetterRow): StoredDeadLetter | undefined {
  const stored = parseOrUndefined(row, fromRow)
  if (stored === undefined) writes.unreadableRows.report('dead_letters', row.seq)
  return stored
}

/** The entries at positions, in the same order; undefined for a damaged row. */
export const readEntries = (
  writes: WriteQueue,
  positions: readonly { seq: number }[],
): (StoredDeadLetter | undefined)[] =>
  writes.sql
    .all<SqliteDeadLetterRow>(SELECT_BY_SEQ, JSON.stringify(positions.map(({ seq }) => seq)))
    .map((row) => parseRow(writes, row))

/** The entry with an id; undefined if there is none that can be read. */
export function findById(writes: WriteQueue, id: string): StoredDeadLetter | undefined {
  const row = writes.sql.get<SqliteDeadLetterRow>(SELECT_BY_ID, toColumn(id))
  return row && parseRow(writes, row)
}

/** The entry with an idempotency key. A damaged entry may have the same key. */
export function findByKey(writes: WriteQueue, key: string): StoredDeadLetter | undefined {
  for (const row of writes.sql.all<SqliteDeadLetterRow>(SELECT_BY_KEY, hashOf(key), toColumn(key))) {
    const stored = parseRow(writes, row)
    if (stored !== undefined) return stored
  }
  return undefined
}

/** The number of the row with an id, which may be damaged. */
export const findSeq = (sql: SqliteConnection, id: string): number | undefined =>
  sql.get<{ seq: number }>(SELECT_SEQ, toColumn(id))?.seq

/** Deletes a row, which may be damaged. */
export function deleteEntry(sql: SqliteConnection, seq: number): void {
  const { operation, status } = sql.get(SELECT_STATUS, seq) as { operation: string; status: DeadLetterStatus }
  sql.run(DELETE_ENTRY, seq)
  addToCount(sql, fromColumn(operation), status, -1)
}

/** Adds to the number of entries of an operation and status. */
export function addToCount(sql: SqliteConnection, operation: string, status: string, entries: number): void {
  sql.run(ADD_TO_COUNT, toColumn(operation), status, entries)
}

/** Replaces a stored entry. */
export function replaceEntry(
  sql: SqliteConnection,
  stored: StoredDeadLetter,
  entry: DeadLetter,
  owner: string | null,
): DeadLetter {
  sql.run(UPDATE_ENTRY, ...columnValues(CHANGING, entry, owner), stored.seq)
  if (entry.originalPayload !== stored.entry.originalPayload)
    sql.run(UPDATE_PAYLOAD, serializePayload(entry.originalPayload), stored.seq)
  if (entry.status !== stored.entry.status) {
    addToCount(sql, entry.operationType, stored.entry.status, -1)
    addToCount(sql, entry.operationType, entry.status, 1)
  }
  if (entry.status === 'completed') insertProcessed(sql, entry)
  return entry
}

export function insertProcessed(sql: SqliteConnection, entry: DeadLetter): void {
  sql.run(INSERT_PROCESSED, toColumn(entry.dlqId), completedAt(entry).getTime())
}

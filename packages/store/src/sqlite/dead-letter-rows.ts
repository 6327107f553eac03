import { type DeadLetter, deadLetterCodec, reviveDeadLetter } from '@holdfast/records'
import { serializePayload } from '../payload.js'
import { fromColumn, hashOf, toColumn } from '../text.js'
import type { SqliteConnection } from './connection.js'
import type { SqliteValue } from './driver.js'

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

/** Columns that are set once. */
export const FIXED_COLUMNS = [
  'dlq_id',
  'idempotency_key',
  'key_hash',
  'operation_type',
  'item_id',
  'created_at',
  'original_payload',
] as const

/** Columns that change with a replay, in the order of {@link changingValues}. */
export const CHANGING_COLUMNS = [
  'status',
  'leased_until',
  'lease_owner',
  'replay_requested_at',
  'entry',
] as const

/** Values of the columns in {@link FIXED_COLUMNS}. */
export const fixedValues = (entry: DeadLetter): SqliteValue[] => [
  toColumn(entry.dlqId),
  toColumn(entry.idempotencyKey),
  hashOf(entry.idempotencyKey),
  toColumn(entry.operationType),
  toColumn(entry.itemId),
  entry.createdAt.getTime(),
  serializePayload(entry.originalPayload),
]

/** Values of the columns in {@link CHANGING_COLUMNS}. */
export function changingValues(entry: DeadLetter, owner: string | null): SqliteValue[] {
  const wire = deadLetterCodec.encode(entry)
  // The payload has a column of its own. The wire form is a copy and can be changed.
  wire.original_payload = undefined
  return [
    entry.status,
    entry.leasedUntil?.getTime() ?? null,
    owner === null ? null : toColumn(owner),
    entry.replayRequestedAt?.getTime() ?? null,
    JSON.stringify(wire),
  ]
}

function fromRow({ seq, lease_owner, entry, original_payload }: SqliteDeadLetterRow): StoredDeadLetter {
  const wire = JSON.parse(entry) as object
  const payload: unknown = JSON.parse(original_payload)
  const owner = lease_owner === null ? null : fromColumn(lease_owner)
  return { seq, owner, entry: reviveDeadLetter({ ...wire, original_payload: payload }) }
}

const SELECT_ENTRY = 'SELECT seq, lease_owner, entry, original_payload FROM dead_letters WHERE'

/** Selects entries by number, in the order of the numbers. */
const SELECT_BY_SEQ = `SELECT seq, lease_owner, entry, original_payload
  FROM json_each(?) AS wanted CROSS JOIN dead_letters ON seq = wanted.value ORDER BY wanted.key`

export const readEntries = (
  sql: SqliteConnection,
  positions: readonly { seq: number }[],
): StoredDeadLetter[] =>
  sql.all<SqliteDeadLetterRow>(SELECT_BY_SEQ, JSON.stringify(positions.map(({ seq }) => seq))).map(fromRow)

export function findById(sql: SqliteConnection, id: string): StoredDeadLetter | undefined {
  const row = sql.get<SqliteDeadLetterRow>(`${SELECT_ENTRY} dlq_id = ?`, toColumn(id))
  return row && fromRow(row)
}

export function findByKey(sql: SqliteConnection, key: string): StoredDeadLetter | undefined {
  const row = sql.get<SqliteDeadLetterRow>(
    `${SELECT_ENTRY} key_hash = ? AND idempotency_key = ?`,
    hashOf(key),
    toColumn(key),
  )
  return row && fromRow(row)
}

/** Adds to the number of entries of an operation and status. */
const ADD_TO_COUNT = `INSERT INTO dead_letter_counts VALUES (?, ?, ?)
  ON CONFLICT DO UPDATE SET entries = entries + excluded.entries`

export function addToCount(sql: SqliteConnection, operation: string, status: string, entries: number): void {
  sql.run(ADD_TO_COUNT, toColumn(operation), status, entries)
}

const UPDATE_ENTRY = `UPDATE dead_letters SET ${CHANGING_COLUMNS.map((column) => `${column} = ?`).join(', ')} WHERE seq = ?`

/** Replaces a stored entry except for its payload. */
export function replaceEntry(
  sql: SqliteConnection,
  stored: StoredDeadLetter,
  entry: DeadLetter,
  owner: string | null,
): DeadLetter {
  sql.run(UPDATE_ENTRY, ...changingValues(entry, owner), stored.seq)
  if (entry.status !== stored.entry.status) {
    addToCount(sql, entry.operationType, stored.entry.status, -1)
    addToCount(sql, entry.operationType, entry.status, 1)
  }
  if (entry.status === 'completed') insertProcessed(sql, entry)
  return entry
}

export function insertProcessed(sql: SqliteConnection, { dlqId, replayedAt, lastAttempt }: DeadLetter): void {
  sql.run(
    'INSERT OR IGNORE INTO processed_ids VALUES (?, ?)',
    toColumn(dlqId),
    (replayedAt ?? lastAttempt).getTime(),
  )
}

import { type DeadLetter, deadLetterCodec, reviveDeadLetter } from '../../records/dead-letter.js'
import { payloadText } from '../payload.js'
import { fromColumn, hashOf, toColumn } from '../text.js'
import type { Connection } from './connection.js'
import type { Value } from './driver.js'

/** A dead letter as it is stored. */
interface DeadLetterRow {
  seq: number
  lease_owner: string | null
  entry: string
  original_payload: string
}

/** A stored entry, and who holds it. Its number is its place in the order of adding. */
export interface Held {
  seq: number
  owner: string | null
  entry: DeadLetter
}

/** What is set once. */
export const FIXED = [
  'dlq_id',
  'idempotency_key',
  'key_hash',
  'operation_type',
  'item_id',
  'created_at',
  'original_payload',
] as const

/** What changes with a replay, in the order of {@link changing}. */
export const CHANGING = ['status', 'leased_until', 'lease_owner', 'replay_requested_at', 'entry'] as const

/** Values of the columns in {@link FIXED}. */
export const fixed = (entry: DeadLetter): Value[] => [
  toColumn(entry.dlqId),
  toColumn(entry.idempotencyKey),
  hashOf(entry.idempotencyKey),
  toColumn(entry.operationType),
  toColumn(entry.itemId),
  entry.createdAt.getTime(),
  payloadText(entry.originalPayload),
]

/** Values of the columns in {@link CHANGING}. */
export function changing(entry: DeadLetter, owner: string | null): Value[] {
  const wire = deadLetterCodec.encode(entry)
  // It has a column of its own. The wire form is a copy, and nobody else's.
  wire.original_payload = undefined
  return [
    entry.status,
    entry.leasedUntil?.getTime() ?? null,
    owner === null ? null : toColumn(owner),
    entry.replayRequestedAt?.getTime() ?? null,
    JSON.stringify(wire),
  ]
}

function heldOf({ seq, lease_owner, entry, original_payload }: DeadLetterRow): Held {
  const wire = JSON.parse(entry) as object
  const payload: unknown = JSON.parse(original_payload)
  const owner = lease_owner === null ? null : fromColumn(lease_owner)
  return { seq, owner, entry: reviveDeadLetter({ ...wire, original_payload: payload }) }
}

const FIELDS = 'SELECT seq, lease_owner, entry, original_payload FROM dead_letters WHERE'

/** Those with these numbers, in the order of the numbers. */
const READ_ALL = `SELECT seq, lease_owner, entry, original_payload
  FROM json_each(?) AS wanted CROSS JOIN dead_letters ON seq = wanted.value ORDER BY wanted.key`

export const readAll = (sql: Connection, places: readonly { seq: number }[]): Held[] =>
  sql.all<DeadLetterRow>(READ_ALL, JSON.stringify(places.map(({ seq }) => seq))).map(heldOf)

export function findId(sql: Connection, id: string): Held | undefined {
  const row = sql.get<DeadLetterRow>(`${FIELDS} dlq_id = ?`, toColumn(id))
  return row && heldOf(row)
}

export function findKey(sql: Connection, key: string): Held | undefined {
  const row = sql.get<DeadLetterRow>(
    `${FIELDS} key_hash = ? AND idempotency_key = ?`,
    hashOf(key),
    toColumn(key),
  )
  return row && heldOf(row)
}

/** Adds to the numbers of entries of an operation. */
const COUNT = `INSERT INTO dead_letter_counts VALUES (?, ?, ?)
  ON CONFLICT DO UPDATE SET entries = entries + excluded.entries`

export function count(sql: Connection, operation: string, status: string, entries: number): void {
  sql.run(COUNT, toColumn(operation), status, entries)
}

const REPLACE = `UPDATE dead_letters SET ${CHANGING.map((column) => `${column} = ?`).join(', ')} WHERE seq = ?`

/** Puts a changed entry in the place of a stored one. Its payload stays as it is. */
export function replace(sql: Connection, held: Held, entry: DeadLetter, owner: string | null): DeadLetter {
  sql.run(REPLACE, ...changing(entry, owner), held.seq)
  if (entry.status !== held.entry.status) {
    count(sql, entry.operationType, held.entry.status, -1)
    count(sql, entry.operationType, entry.status, 1)
  }
  if (entry.status === 'completed') noteProcessed(sql, entry)
  return entry
}

export function noteProcessed(sql: Connection, { dlqId, replayedAt, lastAttempt }: DeadLetter): void {
  sql.run(
    'INSERT OR IGNORE INTO processed_ids VALUES (?, ?)',
    toColumn(dlqId),
    (replayedAt ?? lastAttempt).getTime(),
  )
}

import { type DeadLetter, type DeadLetterStatus, deadLetterCodec, reviveDeadLetter } from '@holdfast/records'
import { serializePayload } from '../payload.js'
import { fromColumn, toColumn } from '../text.js'
import { hashName } from './names.js'

/** A row of the table of dead letters. The driver returns bigint columns as text. */
export interface PostgresDeadLetterRow {
  seq: string
  id: string
  dlq_id: string
  operation: string
  operation_type: string
  item_id: string
  status: DeadLetterStatus
  created_at: string
  last_attempt: string
  replayed_at: string | null
  leased_until: string | null
  lease_owner: string | null
  replay_requested_at: string | null
  change: string
  error_details: string
  rest: string
  original_payload: string
}

/** A stored entry, with the owner of its lease. */
export interface StoredDeadLetter {
  seq: string
  owner: string | null
  change: string
  entry: DeadLetter
}

/** Columns that are set once, with their types. */
export const FIXED_COLUMNS = {
  id: 'uuid',
  key: 'uuid',
  operation: 'uuid',
  dlq_id: 'text',
  operation_type: 'text',
  item_id: 'text',
  created_at: 'bigint',
  rest: 'text',
  original_payload: 'text',
} as const

/** Columns that change with a replay, with their types. */
export const CHANGING_COLUMNS = {
  status: 'text',
  last_attempt: 'bigint',
  replayed_at: 'bigint',
  leased_until: 'bigint',
  lease_owner: 'text',
  replay_requested_at: 'bigint',
  error_details: 'text',
} as const

type ColumnValue = string | number | null

const toEpochMs = (date: Date | null | undefined): number | null => date?.getTime() ?? null

/** Values of the columns in {@link FIXED_COLUMNS}. */
export function fixedValues(entry: DeadLetter): ColumnValue[] {
  const wire: Record<string, unknown> = deadLetterCodec.encode({ ...entry, originalPayload: undefined })
  // These fields have columns of their own. The wire form is a copy and can be changed.
  for (const name of OWN_COLUMNS) delete wire[name]
  return [
    hashName(entry.dlqId),
    hashName(entry.idempotencyKey),
    hashName(entry.operationType),
    toColumn(entry.dlqId),
    toColumn(entry.operationType),
    toColumn(entry.itemId),
    entry.createdAt.getTime(),
    JSON.stringify(wire),
    serializePayload(entry.originalPayload),
  ]
}

const OWN_COLUMNS = [
  'dlq_id',
  'operation_type',
  'item_id',
  'created_at',
  'status',
  'last_attempt',
  'replayed_at',
  'leased_until',
  'replay_requested_at',
  'error_details',
  'processed',
  'original_payload',
] as const

/** Values of the columns in {@link CHANGING_COLUMNS}. Error details are null if they are those of the `old` entry. */
export function changingValues(entry: DeadLetter, owner: string | null, old?: DeadLetter): ColumnValue[] {
  return [
    entry.status,
    entry.lastAttempt.getTime(),
    toEpochMs(entry.replayedAt),
    toEpochMs(entry.leasedUntil),
    owner === null ? null : toColumn(owner),
    toEpochMs(entry.replayRequestedAt),
    entry.errorDetails === old?.errorDetails
      ? null
      : JSON.stringify(deadLetterCodec.encode(entry).error_details),
  ]
}

const parseEpochMs = (ms: string | null): number | null => (ms === null ? null : Number(ms))

export function fromRow(row: PostgresDeadLetterRow): StoredDeadLetter {
  const wire = {
    ...(JSON.parse(row.rest) as object),
    dlq_id: fromColumn(row.dlq_id),
    operation_type: fromColumn(row.operation_type),
    item_id: fromColumn(row.item_id),
    status: row.status,
    created_at: parseEpochMs(row.created_at),
    last_attempt: parseEpochMs(row.last_attempt),
    replayed_at: parseEpochMs(row.replayed_at),
    leased_until: parseEpochMs(row.leased_until),
    replay_requested_at: parseEpochMs(row.replay_requested_at),
    error_details: JSON.parse(row.error_details) as unknown,
    processed: row.status === 'completed',
    original_payload: JSON.parse(row.original_payload) as unknown,
  }
  const owner = row.lease_owner === null ? null : fromColumn(row.lease_owner)
  return { seq: row.seq, owner, change: row.change, entry: reviveDeadLetter(wire) }
}

/** Converts rows to one array per column. */
export const transpose = (rows: readonly (readonly ColumnValue[])[], width: number): ColumnValue[][] =>
  Array.from({ length: width }, (_, i) => rows.map((row) => row[i] as ColumnValue))

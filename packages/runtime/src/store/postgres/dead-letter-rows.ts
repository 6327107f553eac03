import {
  type DeadLetter,
  type DeadLetterStatus,
  deadLetterCodec,
  reviveDeadLetter,
} from '../../records/dead-letter.js'
import { payloadText } from '../payload.js'
import { fromColumn, toColumn } from '../text.js'
import { hashed } from './names.js'

/** A dead letter as it is stored. Big integers come as text. */
export interface DeadLetterRow {
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

/** A stored entry, and who holds it. */
export interface Held {
  seq: string
  owner: string | null
  change: string
  entry: DeadLetter
}

/** What is set once, with its type. */
export const FIXED = {
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

/** What changes with a replay, with its type. */
export const CHANGING = {
  status: 'text',
  last_attempt: 'bigint',
  replayed_at: 'bigint',
  leased_until: 'bigint',
  lease_owner: 'text',
  replay_requested_at: 'bigint',
  error_details: 'text',
} as const

type Cell = string | number | null

const time = (date: Date | null | undefined): number | null => date?.getTime() ?? null

/** Values of the columns in {@link FIXED}. */
export function fixed(entry: DeadLetter): Cell[] {
  const wire: Record<string, unknown> = deadLetterCodec.encode({ ...entry, originalPayload: undefined })
  // These have columns of their own. The wire form is a copy, and nobody else's.
  for (const name of OWN) delete wire[name]
  return [
    hashed(entry.dlqId),
    hashed(entry.idempotencyKey),
    hashed(entry.operationType),
    toColumn(entry.dlqId),
    toColumn(entry.operationType),
    toColumn(entry.itemId),
    entry.createdAt.getTime(),
    JSON.stringify(wire),
    payloadText(entry.originalPayload),
  ]
}

const OWN = [
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

/** Values of the columns in {@link CHANGING}. Details that are those of an `old` entry are left out. */
export function changing(entry: DeadLetter, owner: string | null, old?: DeadLetter): Cell[] {
  return [
    entry.status,
    entry.lastAttempt.getTime(),
    time(entry.replayedAt),
    time(entry.leasedUntil),
    owner === null ? null : toColumn(owner),
    time(entry.replayRequestedAt),
    entry.errorDetails === old?.errorDetails
      ? null
      : JSON.stringify(deadLetterCodec.encode(entry).error_details),
  ]
}

const epoch = (ms: string | null): number | null => (ms === null ? null : Number(ms))

export function heldOf(row: DeadLetterRow): Held {
  const wire = {
    ...(JSON.parse(row.rest) as object),
    dlq_id: fromColumn(row.dlq_id),
    operation_type: fromColumn(row.operation_type),
    item_id: fromColumn(row.item_id),
    status: row.status,
    created_at: epoch(row.created_at),
    last_attempt: epoch(row.last_attempt),
    replayed_at: epoch(row.replayed_at),
    leased_until: epoch(row.leased_until),
    replay_requested_at: epoch(row.replay_requested_at),
    error_details: JSON.parse(row.error_details) as unknown,
    processed: row.status === 'completed',
    original_payload: JSON.parse(row.original_payload) as unknown,
  }
  const owner = row.lease_owner === null ? null : fromColumn(row.lease_owner)
  return { seq: row.seq, owner, change: row.change, entry: reviveDeadLetter(wire) }
}

/** Columns of rows, each as one array. */
export const turned = (rows: readonly (readonly Cell[])[], width: number): Cell[][] =>
  Array.from({ length: width }, (_, i) => rows.map((row) => row[i] as Cell))

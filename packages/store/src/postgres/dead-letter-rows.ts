import type { DeadLetter, DeadLetterStatus } from '@holdfast/records'
import { readableRows } from '../readable-rows.js'
import { reviveStoredDeadLetter } from '../stored-dead-letter.js'
import { fromColumn } from '../text.js'
import type { PostgresDatabase } from './database.js'

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
  edited_payload: string | null
}

/** A stored entry, with the owner of its lease. */
export interface StoredDeadLetter {
  seq: string
  owner: string | null
  change: string
  entry: DeadLetter
}

const parseEpochMs = (ms: string | null): number | null => (ms === null ? null : Number(ms))

function fromRow(row: PostgresDeadLetterRow): StoredDeadLetter {
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
    ...(row.edited_payload === null ? {} : { edited_payload: JSON.parse(row.edited_payload) as unknown }),
  }
  const owner = row.lease_owner === null ? null : fromColumn(row.lease_owner)
  return { seq: row.seq, owner, change: row.change, entry: reviveStoredDeadLetter(wire) }
}

/** Parses rows. Damaged ones are skipped and reported. */
export const readableDeadLetters = (
  database: PostgresDatabase,
  rows: readonly PostgresDeadLetterRow[],
): StoredDeadLetter[] =>
  readableRows(rows, fromRow, ({ dlq_id }) =>
    database.unreadableRows.report('dead_letters', fromColumn(dlq_id)),
  )

export type ColumnValue = string | number | null

/** Converts rows to one array per column. */
export const transpose = (rows: readonly (readonly ColumnValue[])[], width: number): ColumnValue[][] =>
  Array.from({ length: width }, (_, i) => rows.map((row) => row[i] as ColumnValue))

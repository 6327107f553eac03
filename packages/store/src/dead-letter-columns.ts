import type { DeadLetter } from '@holdfast/records'
import { serializePayload } from './payload.js'
import { toColumn } from './text.js'

/** A column of dead letters: its type in PostgreSQL, and its value for an entry and the owner of its lease. */
export interface DeadLetterColumn {
  readonly type: 'text' | 'bigint' | 'uuid'
  /** `old` is the stored entry, if there is one. */
  value(entry: DeadLetter, owner: string | null, old?: DeadLetter): string | number | null
}

/** Columns by name. */
export type DeadLetterColumns = Readonly<Record<string, DeadLetterColumn>>

/** Columns that are set once, in every database. */
export const COMMON_FIXED_COLUMNS = {
  dlq_id: { type: 'text', value: (entry) => toColumn(entry.dlqId) },
  operation_type: { type: 'text', value: (entry) => toColumn(entry.operationType) },
  item_id: { type: 'text', value: (entry) => toColumn(entry.itemId) },
  created_at: { type: 'bigint', value: (entry) => entry.createdAt.getTime() },
  original_payload: { type: 'text', value: (entry) => serializePayload(entry.originalPayload) },
} as const satisfies DeadLetterColumns

/** Columns that change with a replay, in every database. */
export const COMMON_CHANGING_COLUMNS = {
  status: { type: 'text', value: (entry) => entry.status },
  leased_until: { type: 'bigint', value: (entry) => entry.leasedUntil?.getTime() ?? null },
  lease_owner: { type: 'text', value: (_, owner) => (owner === null ? null : toColumn(owner)) },
  replay_requested_at: { type: 'bigint', value: (entry) => entry.replayRequestedAt?.getTime() ?? null },
} as const satisfies DeadLetterColumns

/** Values of columns, in their order. */
export const columnValues = (
  columns: readonly DeadLetterColumn[],
  entry: DeadLetter,
  owner: string | null,
  old?: DeadLetter,
): (string | number | null)[] => columns.map((column) => column.value(entry, owner, old))

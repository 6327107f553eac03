import { deadLetterCodec } from '@holdfast/records'
import {
  COMMON_CHANGING_COLUMNS,
  COMMON_FIXED_COLUMNS,
  type DeadLetterColumns,
} from '../../dead-letter-columns.js'
import { type RowSelection, statusScans } from '../../dead-letter-selection.js'
import { hashOf, toColumn } from '../../text.js'
import { placeholders, type SqliteValue } from './parameters.js'

/** Columns that change with a replay. */
export const CHANGING_COLUMNS = {
  ...COMMON_CHANGING_COLUMNS,
  /** All fields as JSON except for the payload, which has a column of its own. */
  entry: {
    type: 'text',
    value(entry) {
      const wire = deadLetterCodec.encode(entry)
      // The wire form is a copy and can be changed.
      wire.original_payload = undefined
      return JSON.stringify(wire)
    },
  },
} as const satisfies DeadLetterColumns

/** All columns except for the number of the entry. */
export const COLUMNS = {
  ...CHANGING_COLUMNS,
  ...COMMON_FIXED_COLUMNS,
  idempotency_key: { type: 'text', value: (entry) => toColumn(entry.idempotencyKey) },
  key_hash: { type: 'bigint', value: (entry) => hashOf(entry.idempotencyKey) },
} as const satisfies DeadLetterColumns

const NAMES = Object.keys(COLUMNS)

/** Inserts entries. An existing id is ignored. */
export const insertEntries = (rows: number): string =>
  `INSERT INTO dead_letters (${NAMES.join(', ')}) VALUES ${Array(rows)
    .fill(`(${placeholders(NAMES.length)})`)
    .join(', ')} ON CONFLICT DO NOTHING`

/** Values: those of {@link CHANGING_COLUMNS}, then the number of the entry. */
export const UPDATE_ENTRY = `UPDATE dead_letters SET ${Object.keys(CHANGING_COLUMNS)
  .map((column) => `${column} = ?`)
  .join(', ')} WHERE seq = ?`

export const UPDATE_PAYLOAD = 'UPDATE dead_letters SET original_payload = ? WHERE seq = ?'

const ENTRY_COLUMNS = 'seq, lease_owner, entry, original_payload'

export const SELECT_BY_ID = `SELECT ${ENTRY_COLUMNS} FROM dead_letters WHERE dlq_id = ?`

export const SELECT_SEQ = 'SELECT seq FROM dead_letters WHERE dlq_id = ?'

/** Values: the hash of the key and the key. */
export const SELECT_BY_KEY = `SELECT ${ENTRY_COLUMNS} FROM dead_letters WHERE key_hash = ? AND idempotency_key = ?`

/** Selects entries by a JSON list of their numbers, in the order of the list. */
export const SELECT_BY_SEQ = `SELECT ${ENTRY_COLUMNS}
  FROM json_each(?) AS wanted CROSS JOIN dead_letters ON seq = wanted.value ORDER BY wanted.key`

/** Selects the existing keys by a JSON list of their hashes. */
export const SELECT_KEYS =
  'SELECT idempotency_key AS key FROM dead_letters WHERE key_hash IN (SELECT value FROM json_each(?))'

export const SELECT_LAST_SEQ = 'SELECT max(seq) AS last FROM dead_letters'

export const SELECT_STATUS = 'SELECT operation_type AS operation, status FROM dead_letters WHERE seq = ?'

export const DELETE_ENTRY = 'DELETE FROM dead_letters WHERE seq = ?'

export const DELETE_AFTER = 'DELETE FROM dead_letters WHERE seq > ?'

/** Adds to the number of entries of an operation and status. */
export const ADD_TO_COUNT = `INSERT INTO dead_letter_counts VALUES (?, ?, ?)
  ON CONFLICT DO UPDATE SET entries = entries + excluded.entries`

export const COUNT_OPEN = "SELECT sum(entries) AS open FROM dead_letter_counts WHERE status <> 'completed'"

export const SELECT_COUNTS =
  'SELECT operation_type AS operation, status, entries AS n FROM dead_letter_counts WHERE entries > 0'

/** Entries with an expired lease, by operation. They are counted as replaying, although they are pending. */
export const COUNT_EXPIRED = `SELECT operation_type AS operation, count(*) AS n
  FROM dead_letters INDEXED BY dead_letters_by_status
  WHERE status = 'replaying' AND leased_until <= ? GROUP BY operation_type`

export const SELECT_OLDEST_OPEN = `SELECT min(at) AS at FROM (${['pending', 'replaying', 'failed']
  .map((status) => `SELECT min(created_at) AS at FROM dead_letters WHERE status = '${status}'`)
  .join(' UNION ALL ')})`

/** Values: an id and the time of its completion. */
export const INSERT_PROCESSED = 'INSERT OR IGNORE INTO processed_ids VALUES (?, ?)'

export const SELECT_PROCESSED = 'SELECT 1 FROM processed_ids WHERE dlq_id = ?'

/** Selects ids after an id, with the times of their completion. Values: the id and the number of ids. */
export const SELECT_PROCESSED_AFTER =
  'SELECT dlq_id AS id, completed_at FROM processed_ids WHERE dlq_id > ? ORDER BY dlq_id LIMIT ?'

/** Deletes the ids of a range whose entries do not exist. Values: the id before the range, its last id, and the time of completion. */
export const DELETE_PROCESSED = `DELETE FROM processed_ids
  WHERE dlq_id > ? AND dlq_id <= ? AND completed_at < ?
    AND NOT EXISTS (SELECT 1 FROM dead_letters WHERE dead_letters.dlq_id = processed_ids.dlq_id)`

/** The position of an entry in a list: by age, then by order of insertion. */
export interface RowPosition {
  created_at: number
  seq: number
}

/** Conditions with the values of their parameters. */
class Conditions {
  readonly texts: string[] = []
  readonly values: SqliteValue[] = []

  add(text: string, ...values: SqliteValue[]): this {
    this.texts.push(text)
    this.values.push(...values)
    return this
  }
}

const LEASE_CONDITIONS = { held: 'leased_until > ?', expired: 'leased_until <= ?' } as const

/** Scans of an index in which entries are sorted by age. */
function indexScans(selection: RowSelection, now: number): Conditions[] {
  const operations = selection.operations === undefined ? [undefined] : [...new Set(selection.operations)]
  return operations.flatMap((operation) =>
    statusScans(selection).map(({ status, lease }) => {
      const scan = new Conditions()
      if (operation !== undefined) scan.add('operation_type = ?', toColumn(operation))
      if (status === 'replaying') scan.add("status = 'replaying'")
      else scan.add('status = ?', status)
      return lease === undefined ? scan : scan.add(LEASE_CONDITIONS[lease], now)
    }),
  )
}

/** A few entries are found by id or request; all others are scanned in order of age. */
function indexFor({ ids, requested, operations }: RowSelection): string {
  if (ids !== undefined) return 'sqlite_autoindex_dead_letters_1'
  if (requested === true) return 'dead_letters_requested'
  return operations === undefined ? 'dead_letters_by_status' : 'dead_letters_by_operation'
}

/** The conditions besides status and operation. */
function toConditions(selection: RowSelection, isNewestFirst: boolean, after?: RowPosition) {
  const conditions = new Conditions()
  const { from, to, requested, itemId, ids } = selection
  if (from !== undefined) conditions.add('created_at >= ?', from.getTime())
  if (to !== undefined) conditions.add('created_at < ?', to.getTime())
  if (after !== undefined)
    conditions.add(`(created_at, seq) ${isNewestFirst ? '<' : '>'} (?, ?)`, after.created_at, after.seq)
  if (requested === true) conditions.add('replay_requested_at IS NOT NULL')
  if (itemId !== undefined) conditions.add('item_id = ?', toColumn(itemId))
  if (ids !== undefined)
    conditions.add('dlq_id IN (SELECT value FROM json_each(?))', JSON.stringify(ids.map(toColumn)))
  return conditions
}

/** The statements that count matching entries, one per index scan, with the values of their parameters. */
export function countStatements(
  selection: RowSelection,
  now: number,
): { text: string; values: SqliteValue[] }[] {
  const conditions = toConditions(selection, false)
  return indexScans(selection, now).map((scan) => ({
    text: `SELECT count(*) AS n FROM dead_letters INDEXED BY ${indexFor(selection)}
      WHERE ${[...scan.texts, ...conditions.texts].join(' AND ')}`,
    values: [...scan.values, ...conditions.values],
  }))
}

/** The statements that select positions of matching entries, one per index scan, with the values of their parameters. */
export function selectPositionsStatements(
  selection: RowSelection,
  now: number,
  page: { isNewestFirst: boolean; after?: RowPosition | undefined; limit: number },
): { text: string; values: SqliteValue[] }[] {
  const { isNewestFirst, after, limit } = page
  const conditions = toConditions(selection, isNewestFirst, after)
  const direction = isNewestFirst ? 'DESC' : 'ASC'
  return indexScans(selection, now).map((scan) => ({
    text: `SELECT created_at, seq FROM dead_letters INDEXED BY ${indexFor(selection)}
      WHERE ${[...scan.texts, ...conditions.texts].join(' AND ')}
      ORDER BY created_at ${direction}, seq ${direction} LIMIT ?`,
    values: [...scan.values, ...conditions.values, limit],
  }))
}

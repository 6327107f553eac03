import type { DeadLetter } from '@holdfast/records'
import { columnValues } from '../dead-letter-columns.js'
import { toDuplicate } from '../dead-letter-decisions.js'
import type { Added } from '../dead-letter-store.js'
import { fromColumn } from '../text.js'
import type { SqliteConnection } from './connection.js'
import {
  addToCount,
  deleteEntry,
  findById,
  findByKey,
  findSeq,
  fromRow,
  insertProcessed,
} from './dead-letter-rows.js'
import {
  COLUMNS,
  COUNT_OPEN,
  DELETE_AFTER,
  insertEntries,
  SELECT_KEYS,
  SELECT_LAST_SEQ,
} from './statements/dead-letters.js'
import type { SqliteValue } from './statements/parameters.js'
import type { WriteQueue } from './write-queue.js'

/** How many rows one statement inserts, because a statement costs more than a row. */
const ROWS_PER_INSERT = 16

/** A serialized entry: the values of its columns, and the limit of entries that are not completed. */
export interface EncodedDeadLetter {
  readonly row: readonly SqliteValue[]
  readonly maxEntries: number
}

/** The result of inserting an entry. An added entry is not repeated, because the caller has it. */
export type Inserted = Exclude<Added, { result: 'added' }> | { result: 'added' }

const COLUMN_NAMES = Object.keys(COLUMNS) as (keyof typeof COLUMNS)[]
const COLUMN_LIST = Object.values(COLUMNS)
const COLUMN_INDEX = Object.fromEntries(COLUMN_NAMES.map((name, index) => [name, index])) as Record<
  keyof typeof COLUMNS,
  number
>
const INSERT_ONE = insertEntries(1)
const INSERT_MANY = insertEntries(ROWS_PER_INSERT)

export const encodeDeadLetter = (entry: DeadLetter, maxEntries: number): EncodedDeadLetter => ({
  row: columnValues(COLUMN_LIST, entry, null),
  maxEntries,
})

/** The number of characters of a payload. */
export const payloadSize = ({ row }: EncodedDeadLetter): number => textOf(row, 'original_payload').length

const textOf = (row: readonly SqliteValue[], column: keyof typeof COLUMNS): string =>
  row[COLUMN_INDEX[column]] as string

/** The name in a column, as the entry has it. */
const nameOf = (row: readonly SqliteValue[], column: keyof typeof COLUMNS): string =>
  fromColumn(textOf(row, column))

const entryOf = (row: readonly SqliteValue[]): DeadLetter =>
  fromRow({
    seq: 0,
    lease_owner: null,
    entry: textOf(row, 'entry'),
    original_payload: textOf(row, 'original_payload'),
  }).entry

/** Inserts entries in a transaction, each with its own result. */
export function insertDeadLetters(writes: WriteQueue, entries: readonly EncodedDeadLetter[]): Inserted[] {
  const { sql } = writes
  const { open } = sql.get<{ open: number | null }>(COUNT_OPEN) as { open: number | null }
  const counts = new InsertCounts(open ?? 0)
  const keys = existingKeys(sql, entries)
  const results: Inserted[] = []
  // Entries whose keys are new and that do not exceed the limit are inserted together.
  let group: EncodedDeadLetter[] = []
  const insertWaiting = () => {
    results.push(...insertGroup(writes, group, counts))
    group = []
  }
  for (const one of entries) {
    const key = textOf(one.row, 'idempotency_key')
    const isSimple = !keys.has(key) && counts.open + group.length < one.maxEntries
    keys.add(key)
    if (isSimple) group.push(one)
    if (!isSimple || group.length === ROWS_PER_INSERT) insertWaiting()
    if (!isSimple) results.push(insertOne(writes, one, counts))
  }
  insertWaiting()
  counts.write(sql)
  return results
}

/** The idempotency keys that exist already. */
function existingKeys(sql: SqliteConnection, entries: readonly EncodedDeadLetter[]): Set<string> {
  const hashes = entries.map(({ row }) => row[COLUMN_INDEX.key_hash])
  const rows = sql.all<{ key: string }>(SELECT_KEYS, JSON.stringify(hashes))
  return new Set(rows.map(({ key }) => key))
}

/** The usual case: the entries do not exceed the limit, and their keys are new. */
function insertGroup(
  writes: WriteQueue,
  group: readonly EncodedDeadLetter[],
  counts: InsertCounts,
): Inserted[] {
  const { sql } = writes
  if (group.length === ROWS_PER_INSERT && tryInsertGroup(sql, group))
    return group.map(({ row }) => toAdded(sql, row, counts))
  return group.map((one) => insertOne(writes, one, counts, true))
}

/** Inserts all entries, or none and returns false if one of the ids exists. */
function tryInsertGroup(sql: SqliteConnection, group: readonly EncodedDeadLetter[]): boolean {
  const { last } = sql.get<{ last: number | null }>(SELECT_LAST_SEQ) as {
    last: number | null
  }
  const inserted = sql.statement(INSERT_MANY).run(group.flatMap(({ row }) => row))
  if (inserted > 0 && inserted < ROWS_PER_INSERT) sql.run(DELETE_AFTER, last ?? 0)
  return inserted === ROWS_PER_INSERT
}

function insertOne(
  writes: WriteQueue,
  { row, maxEntries }: EncodedDeadLetter,
  counts: InsertCounts,
  isNewKey = false,
): Inserted {
  const { sql } = writes
  if (isNewKey && sql.statement(INSERT_ONE).run(row) === 1) return toAdded(sql, row, counts)
  const id = nameOf(row, 'dlq_id')
  const same = findByKey(writes, nameOf(row, 'idempotency_key')) ?? findById(writes, id)
  if (same !== undefined) return toDuplicate(same.entry, entryOf(row))
  if (counts.open >= maxEntries) return { result: 'full' }
  const damaged = findSeq(sql, id)
  if (damaged !== undefined) deleteEntry(sql, damaged)
  sql.statement(INSERT_ONE).run(row)
  return toAdded(sql, row, counts)
}

function toAdded(sql: SqliteConnection, row: readonly SqliteValue[], counts: InsertCounts): Inserted {
  const status = textOf(row, 'status')
  counts.add(nameOf(row, 'operation_type'), status)
  if (status === 'completed') insertProcessed(sql, entryOf(row))
  return { result: 'added' }
}

/** Counts the entries that a job adds, and writes the counts once. */
class InsertCounts {
  /** How many entries are not completed. */
  open: number
  private readonly added = new Map<string, Map<string, number>>()

  constructor(open: number) {
    this.open = open
  }

  add(operation: string, status: string): void {
    if (status !== 'completed') this.open++
    let byStatus = this.added.get(operation)
    if (byStatus === undefined) this.added.set(operation, (byStatus = new Map()))
    byStatus.set(status, (byStatus.get(status) ?? 0) + 1)
  }

  write(sql: SqliteConnection): void {
    for (const [operation, byStatus] of this.added)
      for (const [status, entries] of byStatus) addToCount(sql, operation, status, entries)
  }
}

import type { DeadLetter } from '@holdfast/records'
import { columnValues } from '../dead-letter-columns.js'
import { toDuplicate } from '../dead-letter-decisions.js'
import type { Added } from '../dead-letter-store.js'
import { hashOf, toColumn } from '../text.js'
import type { SqliteConnection } from './connection.js'
import { addToCount, findById, findByKey, insertProcessed } from './dead-letter-rows.js'
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

/** How many entries, or characters of them, one job adds before other jobs get a turn. */
const MAX_JOB = { entries: 512, size: 2 ** 20 } as const

/** How many rows one statement inserts, because a statement costs more than a row. */
const ROWS_PER_INSERT = 16

interface PendingAdd {
  entry: DeadLetter
  row: SqliteValue[]
  maxEntries: number
  result: Added | undefined
}

interface AddBatch {
  waiting: PendingAdd[]
  size: number
  written: Promise<void>
}

const COLUMN_LIST = Object.values(COLUMNS)
const PAYLOAD_INDEX = COLUMN_LIST.indexOf(COLUMNS.original_payload)
const INSERT_ONE = insertEntries(1)
const INSERT_MANY = insertEntries(ROWS_PER_INSERT)

/** Adds entries. All entries of one turn of the event loop are added by one job, and so in one transaction. */
export class DeadLetterInserts {
  private readonly commits: WriteQueue
  private batch: AddBatch | undefined

  constructor(writes: WriteQueue) {
    this.commits = writes
  }

  async add(entries: readonly DeadLetter[], maxEntries: number): Promise<Added[]> {
    const waiting = entries.map(
      (entry): PendingAdd => ({
        entry,
        row: columnValues(COLUMN_LIST, entry, null),
        maxEntries,
        result: undefined,
      }),
    )
    const batches = new Set<Promise<void>>()
    for (const one of waiting) {
      const batch = (this.batch ??= this.startBatch())
      batch.waiting.push(one)
      batch.size += (one.row[PAYLOAD_INDEX] as string).length
      batches.add(batch.written)
      if (batch.waiting.length >= MAX_JOB.entries || batch.size >= MAX_JOB.size) this.batch = undefined
    }
    await Promise.all(batches)
    return waiting.map(({ result }) => result as Added)
  }

  private startBatch(): AddBatch {
    const batch: AddBatch = { waiting: [], size: 0, written: Promise.resolve() }
    const end = () => {
      if (this.batch === batch) this.batch = undefined
    }
    batch.written = this.commits.write(() => {
      // From now on no entries are added to this batch, even if the transaction fails.
      end()
      insertAll(this.commits.sql, batch.waiting)
    })
    batch.written.catch(end)
    return batch
  }
}

function insertAll(sql: SqliteConnection, waiting: readonly PendingAdd[]): void {
  const { open } = sql.get<{ open: number | null }>(COUNT_OPEN) as { open: number | null }
  const counts = new InsertCounts(open ?? 0)
  const keys = existingKeys(sql, waiting)
  let group: PendingAdd[] = []
  const insert = () => {
    insertGroup(sql, group, counts)
    group = []
  }
  for (const one of waiting) {
    const key = toColumn(one.entry.idempotencyKey)
    const isSimple = !keys.has(key) && counts.open + group.length < one.maxEntries
    keys.add(key)
    if (isSimple) group.push(one)
    if (!isSimple || group.length === ROWS_PER_INSERT) insert()
    if (!isSimple) one.result = insertOne(sql, one, counts)
  }
  insert()
  counts.write(sql)
}

/** The idempotency keys that exist already. */
function existingKeys(sql: SqliteConnection, waiting: readonly PendingAdd[]): Set<string> {
  const hashes = waiting.map(({ entry }) => hashOf(entry.idempotencyKey))
  const rows = sql.all<{ key: string }>(SELECT_KEYS, JSON.stringify(hashes))
  return new Set(rows.map(({ key }) => key))
}

/** The usual case: the entries do not exceed the limit, and their keys are new. */
function insertGroup(sql: SqliteConnection, group: readonly PendingAdd[], counts: InsertCounts): void {
  if (group.length === ROWS_PER_INSERT && tryInsertGroup(sql, group)) {
    for (const one of group) one.result = toAdded(sql, one.entry, counts)
    return
  }
  for (const one of group) one.result = insertOne(sql, one, counts, true)
}

/** Inserts all entries, or none and returns false if one of the ids exists. */
function tryInsertGroup(sql: SqliteConnection, group: readonly PendingAdd[]): boolean {
  const { last } = sql.get<{ last: number | null }>(SELECT_LAST_SEQ) as {
    last: number | null
  }
  const inserted = sql.statement(INSERT_MANY).run(group.flatMap(({ row }) => row))
  if (inserted > 0 && inserted < ROWS_PER_INSERT) sql.run(DELETE_AFTER, last ?? 0)
  return inserted === ROWS_PER_INSERT
}

function insertOne(
  sql: SqliteConnection,
  { entry, row, maxEntries }: PendingAdd,
  counts: InsertCounts,
  isNewKey = false,
): Added {
  if (isNewKey && sql.statement(INSERT_ONE).run(row) === 1) return toAdded(sql, entry, counts)
  const same = findByKey(sql, entry.idempotencyKey) ?? findById(sql, entry.dlqId)
  if (same !== undefined) return toDuplicate(same.entry, entry)
  if (counts.open >= maxEntries) return { result: 'full' }
  sql.statement(INSERT_ONE).run(row)
  return toAdded(sql, entry, counts)
}

function toAdded(sql: SqliteConnection, entry: DeadLetter, counts: InsertCounts): Added {
  counts.add(entry)
  if (entry.status === 'completed') insertProcessed(sql, entry)
  return { result: 'added', entry }
}

/** Counts the entries that a job adds, and writes the counts once. */
class InsertCounts {
  /** How many entries are not completed. */
  open: number
  private readonly added = new Map<string, Map<string, number>>()

  constructor(open: number) {
    this.open = open
  }

  add({ operationType, status }: DeadLetter): void {
    if (status !== 'completed') this.open++
    let byStatus = this.added.get(operationType)
    if (byStatus === undefined) this.added.set(operationType, (byStatus = new Map()))
    byStatus.set(status, (byStatus.get(status) ?? 0) + 1)
  }

  write(sql: SqliteConnection): void {
    for (const [operation, byStatus] of this.added)
      for (const [status, entries] of byStatus) addToCount(sql, operation, status, entries)
  }
}

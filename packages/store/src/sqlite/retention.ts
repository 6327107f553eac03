import { parseOrUndefined } from '../readable-rows.js'
import type { SqliteConnection } from './connection.js'
import {
  type AnyJournalTable,
  COMPRESSED_CHUNK_SIZE,
  deleteRows,
  type JournalRow,
  parseNames,
  recordsOf,
  removeFromRow,
} from './rows.js'
import {
  deleteRowsBetween,
  insertRow,
  selectLastNumber,
  selectNewestFirst,
  selectRowsBelow,
  selectRowsWithOlder,
  selectUncompressed,
  selectWholeRows,
  updateBody,
} from './statements/journal.js'
import type { SqliteValue } from './statements/parameters.js'
import type { WriteQueue } from './write-queue.js'

/** How many record numbers are scanned before the event loop gets a turn. */
export const SCAN_SIZE = 10_000

/** How many rows are read or deleted at a time. */
const ROWS_PER_STEP = 200

/** How many of the newest records are not compressed, because they are read most often. */
const MIN_UNCOMPRESSED = 10_000

interface RetentionLimits {
  before?: Date | undefined
  maxEntries?: number | undefined
}

/** Deletes records older than `before`, then the oldest ones beyond `maxEntries`. Returns how many. */
export async function expireRecords(
  writes: WriteQueue,
  journal: AnyJournalTable,
  { before, maxEntries }: RetentionLimits,
): Promise<number> {
  let deleted = 0
  if (before !== undefined) deleted += await deleteBefore(writes, journal, before.getTime())
  if (maxEntries !== undefined && maxEntries < Number.POSITIVE_INFINITY)
    deleted += await deleteBeyond(writes, journal, maxEntries)
  return deleted
}

/** Deletes the oldest records, so that `maxEntries` are left. */
async function deleteBeyond(
  writes: WriteQueue,
  journal: AnyJournalTable,
  maxEntries: number,
): Promise<number> {
  const { table } = journal
  let left = maxEntries
  for (let edge = Number.MAX_SAFE_INTEGER; ; ) {
    const at = edge
    const rows = await writes.read(() =>
      writes.sql.all<{ last: number; entries: number }>(selectNewestFirst(table, ROWS_PER_STEP), at),
    )
    for (const { last, entries: stored } of rows) {
      const entries = toCount(stored)
      if (entries <= left) {
        left -= entries
        edge = last
        continue
      }
      const keepCount = left
      const removed = await writes.writeUnflushed(() =>
        removeFromRow(writes.sql, journal, last, (_, index) => index < keepCount),
      )
      return removed + (await deleteBelow(writes, journal, 'last', last))
    }
    if (rows.length < ROWS_PER_STEP) return 0
    await writes.nextTurn()
  }
}

/** The number of records in a row; 0 if its column is damaged. */
const toCount = (entries: unknown): number => (Number.isInteger(entries) ? (entries as number) : 0)

/** Deletes records older than a time. All rows are checked, because a clock that was set back leaves old records among newer ones. */
async function deleteBefore(writes: WriteQueue, journal: AnyJournalTable, before: number): Promise<number> {
  const { table } = journal
  let deleted = await deleteBelow(writes, journal, 'newest', before)
  for (let from: number | undefined = 0; from !== undefined; ) {
    const at: number = from
    const mixed: { last: number }[] = await writes.read(() =>
      writes.sql.all(selectRowsWithOlder(table, ROWS_PER_STEP), at, before),
    )
    for (const { last } of mixed)
      deleted += await writes.writeUnflushed(() =>
        removeFromRow(writes.sql, journal, last, (time) => time >= before),
      )
    from = mixed.length < ROWS_PER_STEP ? undefined : mixed.at(-1)?.last
    if (from !== undefined) await writes.nextTurn()
  }
  return deleted
}

/** Deletes all rows in which the column is below a value. */
async function deleteBelow(
  writes: WriteQueue,
  journal: AnyJournalTable,
  column: 'last' | 'newest',
  value: number,
): Promise<number> {
  const find = selectRowsBelow(journal.table, column, ROWS_PER_STEP)
  const rows = () => writes.sql.all<{ last: number; entries: number }>(find, value)
  for (let deleted = 0; ; ) {
    // Checked with a read first, because it does not need the write lock.
    if ((await writes.read(rows)).length === 0) return deleted
    deleted += await writes.writeUnflushed(() => {
      const batch = rows()
      deleteRows(
        writes.sql,
        journal,
        batch.map(({ last }) => last),
      )
      return batch.reduce((sum, { entries }) => sum + toCount(entries), 0)
    })
    await writes.nextTurn()
  }
}

/** Compresses old rows in chunks, outside of the event loop. */
export async function compressOldRows(writes: WriteQueue, journal: AnyJournalTable): Promise<void> {
  const { table } = journal
  for (;;) {
    const chunk = await writes.read(() => oldChunk(writes.sql, journal))
    if (chunk.length === 0) return
    const [row, next] = chunk as [JournalRow, JournalRow?]
    if (next === undefined) {
      const body = await writes.platform.deflate(String(row.body))
      await writes.writeUnflushed(() => replaceBody(writes.sql, table, row, body))
      continue
    }
    const text = chunk.map(({ body }) => String(body).slice(1, -1)).join(',')
    const body = await writes.platform.deflate(`[${text}]`)
    await writes.writeUnflushed(() => replaceWithChunk(writes.sql, journal, chunk, body))
  }
}

/**
 * Replaces the body of a row, unless another process has changed it meanwhile. The columns stay, which may be damaged. SQL cannot
 * compare the bodies: a text with damaged bytes is not equal to the text that was read.
 */
function replaceBody(
  sql: SqliteConnection,
  table: string,
  { last, body: old }: JournalRow,
  body: Uint8Array,
): void {
  const [row] = sql.all<Record<string, SqliteValue>>(selectWholeRows(table), last, last)
  if (row?.body === old) sql.run(updateBody(table), body, last)
}

/** Replaces several rows by one, unless another process has changed them meanwhile. */
function replaceWithChunk(
  sql: SqliteConnection,
  journal: AnyJournalTable,
  chunk: readonly JournalRow[],
  body: Uint8Array,
): void {
  const { table, columns, greatest } = journal
  const first = (chunk[0] as JournalRow).first
  const { last } = chunk.at(-1) as JournalRow
  const rows = sql.all<Record<string, SqliteValue>>(selectWholeRows(table), first, last)
  if (rows.length !== chunk.length || rows.some((row, i) => row.body !== chunk[i]?.body)) return
  const all = (column: string) => rows.map((row) => row[column])
  const sets = columns.map((column) => new Set(all(column).flatMap(parseNames)))
  sql.run(deleteRowsBetween(table), first, last)
  const values: SqliteValue[] = [
    last,
    first,
    all('entries').reduce((sum: number, entries) => sum + Number(entries), 0),
    Math.min(...all('oldest').map(Number)),
    Math.max(...all('newest').map(Number)),
    ...(greatest ? [all(greatest.column).map(String).sort().at(-1) as string] : []),
    ...sets.map((set) => JSON.stringify([...set])),
    body,
  ]
  sql.run(insertRow(table, values.length), ...values)
}

const NUMBERS = ['first', 'entries', 'oldest', 'newest'] as const

/** Whether the records and the columns of a row can be read, and its numbers are those of its records. */
const isReadable = (row: JournalRow & Record<string, SqliteValue>, columns: readonly string[]): boolean =>
  NUMBERS.every((column) => Number.isInteger(row[column])) &&
  parseOrUndefined(row, () => {
    for (const column of columns) parseNames(row[column])
    return recordsOf(row).length
  }) ===
    row.last - row.first + 1

/**
 * The oldest uncompressed rows with consecutive numbers; none if they are too few for a chunk. A damaged row is a chunk of its own,
 * because the others could not be read any more.
 */
function oldChunk(sql: SqliteConnection, { table, columns }: AnyJournalTable): JournalRow[] {
  const newest = sql.get<{ last: number | null }>(selectLastNumber(table))?.last ?? 0
  const rows = sql.all<JournalRow & Record<string, SqliteValue>>(
    selectUncompressed(table, COMPRESSED_CHUNK_SIZE),
    newest - MIN_UNCOMPRESSED,
  )
  const chunk: JournalRow[] = []
  let count = 0
  for (const row of rows) {
    const end = chunk.at(-1)?.last
    if (count >= COMPRESSED_CHUNK_SIZE || (end !== undefined && row.first !== end + 1)) break
    if (!isReadable(row, columns)) return chunk.length === 0 ? [row] : chunk
    chunk.push(row)
    count += row.last - row.first + 1
  }
  return count >= COMPRESSED_CHUNK_SIZE || chunk.length < rows.length ? chunk : []
}

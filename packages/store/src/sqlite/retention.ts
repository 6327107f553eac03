import { promisify } from 'node:util'
import { deflateRaw } from 'node:zlib'
import type { SqliteConnection } from './connection.js'
import type { SqliteValue } from './driver.js'
import {
  type AnyJournalTable,
  COMPRESSED_CHUNK_SIZE,
  deleteRows,
  type JournalRow,
  removeFromRow,
} from './rows.js'
import { nextMacrotask, type WriteQueue } from './write-queue.js'

const deflate = promisify(deflateRaw)

/** How many numbers are looked at before others have their turn. */
export const SCAN_SIZE = 10_000

/** How many rows are looked at, or deleted, at a time. */
const ROWS_PER_STEP = 200

/** How many of the newest records are kept as they are, since they are what is asked for. */
const MIN_UNCOMPRESSED = 10_000

interface RetentionLimits {
  before?: Date | undefined
  maxEntries?: number | undefined
}

/** Lets go of records older than `before`, and then of the oldest beyond `maxEntries`. */
export async function expireRecords(
  writes: WriteQueue,
  shape: AnyJournalTable,
  { before, maxEntries }: RetentionLimits,
): Promise<number> {
  let gone = 0
  if (before !== undefined) gone += await deleteBefore(writes, shape, before.getTime())
  if (maxEntries !== undefined && maxEntries < Number.POSITIVE_INFINITY)
    gone += await deleteBeyond(writes, shape, maxEntries)
  return gone
}

/** Deletes the oldest records where only so many may stay. */
async function deleteBeyond(writes: WriteQueue, shape: AnyJournalTable, maxEntries: number): Promise<number> {
  const { table } = shape
  let left = maxEntries
  for (let edge = Number.MAX_SAFE_INTEGER; ; ) {
    const at = edge
    const rows = await writes.read(() =>
      writes.sql.all<{ last: number; entries: number }>(
        `SELECT last, entries FROM ${table} WHERE last < ? ORDER BY last DESC LIMIT ${ROWS_PER_STEP}`,
        at,
      ),
    )
    for (const { last, entries } of rows) {
      if (entries <= left) {
        left -= entries
        edge = last
        continue
      }
      const stay = left
      const cutOff = await writes.writeDeferred(() =>
        removeFromRow(writes.sql, shape, last, (_, index) => index < stay),
      )
      return cutOff + (await deleteMatching(writes, shape, 'last < ?1', last))
    }
    if (rows.length < ROWS_PER_STEP) return 0
    await nextMacrotask()
  }
}

/** Deletes records from before a time. A clock that stepped may have left some among younger ones, so all are looked at. */
async function deleteBefore(writes: WriteQueue, shape: AnyJournalTable, before: number): Promise<number> {
  const { table } = shape
  let gone = await deleteMatching(writes, shape, 'newest < ?1', before)
  for (let from: number | undefined = 0; from !== undefined; ) {
    const at: number = from
    const mixed: { last: number }[] = await writes.read(() =>
      writes.sql.all(
        `SELECT last FROM ${table} WHERE last > ? AND oldest < ? ORDER BY last LIMIT ${ROWS_PER_STEP}`,
        at,
        before,
      ),
    )
    for (const { last } of mixed)
      gone += await writes.writeDeferred(() =>
        removeFromRow(writes.sql, shape, last, (time) => time >= before),
      )
    from = mixed.length < ROWS_PER_STEP ? undefined : mixed.at(-1)?.last
    if (from !== undefined) await nextMacrotask()
  }
  return gone
}

/** Deletes whole rows that fit a condition. */
async function deleteMatching(
  writes: WriteQueue,
  shape: AnyJournalTable,
  condition: string,
  value: number,
): Promise<number> {
  const find = `SELECT last, entries FROM ${shape.table} WHERE ${condition} ORDER BY last LIMIT ${ROWS_PER_STEP}`
  const rows = () => writes.sql.all<{ last: number; entries: number }>(find, value)
  for (let gone = 0; ; ) {
    // Nobody has to wait for a lock where there is nothing to do.
    if ((await writes.read(rows)).length === 0) return gone
    gone += await writes.writeDeferred(() => {
      const some = rows()
      deleteRows(
        writes.sql,
        shape,
        some.map(({ last }) => last),
      )
      return some.reduce((sum, { entries }) => sum + entries, 0)
    })
    await nextMacrotask()
  }
}

/** Compresses what is old, a chunk at a time, off the event loop. */
export async function compressOldRows(writes: WriteQueue, shape: AnyJournalTable): Promise<void> {
  const { table } = shape
  for (;;) {
    const chunk = await writes.read(() => oldChunk(writes.sql, table))
    if (chunk.length === 0) return
    const text = chunk.map(({ body }) => String(body).slice(1, -1)).join(',')
    const body = await deflate(`[${text}]`)
    await writes.writeDeferred(() => replaceWithChunk(writes.sql, shape, chunk, body))
  }
}

/** Puts one row in the place of several, unless another process has changed them meanwhile. */
function replaceWithChunk(
  sql: SqliteConnection,
  shape: AnyJournalTable,
  chunk: readonly JournalRow[],
  body: Uint8Array,
): void {
  const { table, columns, greatest } = shape
  const first = (chunk[0] as JournalRow).first
  const { last } = chunk.at(-1) as JournalRow
  const rows = sql.all<Record<string, SqliteValue>>(
    `SELECT * FROM ${table} WHERE last >= ? AND last <= ? ORDER BY last`,
    first,
    last,
  )
  if (rows.length !== chunk.length || rows.some((row, i) => row.body !== chunk[i]?.body)) return
  const all = (column: string) => rows.map((row) => row[column])
  const sets = columns.map((column) => new Set(all(column).flatMap((stored) => JSON.parse(String(stored)))))
  sql.run(`DELETE FROM ${table} WHERE last >= ? AND last <= ?`, first, last)
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
  sql.run(`INSERT INTO ${table} VALUES (${values.map(() => '?').join(', ')})`, ...values)
}

/** The oldest rows that are not compressed, as long as their numbers are consecutive and make up a whole chunk. */
function oldChunk(sql: SqliteConnection, table: string): JournalRow[] {
  const newest = sql.get<{ last: number | null }>(`SELECT max(last) AS last FROM ${table}`)?.last ?? 0
  const rows = sql.all<JournalRow & Record<string, SqliteValue>>(
    `SELECT first, last, body FROM ${table}
      WHERE last <= ? AND typeof(body) = 'text' ORDER BY last LIMIT ${COMPRESSED_CHUNK_SIZE}`,
    newest - MIN_UNCOMPRESSED,
  )
  const chunk: JournalRow[] = []
  let count = 0
  for (const row of rows) {
    const end = chunk.at(-1)?.last
    if (count >= COMPRESSED_CHUNK_SIZE || (end !== undefined && row.first !== end + 1)) break
    chunk.push(row)
    count += row.last - row.first + 1
  }
  return count >= COMPRESSED_CHUNK_SIZE || chunk.length < rows.length ? chunk : []
}

import { promisify } from 'node:util'
import { deflateRaw } from 'node:zlib'
import { type Commits, turn } from './commits.js'
import type { Connection } from './connection.js'
import type { Value } from './driver.js'
import { type AnyShape, CHUNK, cut, deleteRows, type Row } from './rows.js'

const deflate = promisify(deflateRaw)

/** How many numbers are looked at before others have their turn. */
export const SPAN = 10_000

/** How many rows are looked at, or deleted, at a time. */
const ROWS = 200

/** How many of the newest records are kept as they are, since they are what is asked for. */
const YOUNG = 10_000

interface Limits {
  before?: Date | undefined
  maxEntries?: number | undefined
}

/** Lets go of records older than `before`, and then of the oldest beyond `maxEntries`. */
export async function expire(
  commits: Commits,
  shape: AnyShape,
  { before, maxEntries }: Limits,
): Promise<number> {
  let gone = 0
  if (before !== undefined) gone += await removeBefore(commits, shape, before.getTime())
  if (maxEntries !== undefined && maxEntries < Number.POSITIVE_INFINITY)
    gone += await removeBeyond(commits, shape, maxEntries)
  return gone
}

/** Deletes the oldest records where only so many may stay. */
async function removeBeyond(commits: Commits, shape: AnyShape, maxEntries: number): Promise<number> {
  const { table } = shape
  let left = maxEntries
  for (let edge = Number.MAX_SAFE_INTEGER; ; ) {
    const at = edge
    const rows = await commits.read(() =>
      commits.sql.all<{ last: number; entries: number }>(
        `SELECT last, entries FROM ${table} WHERE last < ? ORDER BY last DESC LIMIT ${ROWS}`,
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
      const cutOff = await commits.writeLater(() => cut(commits.sql, shape, last, (_, index) => index < stay))
      return cutOff + (await removeRows(commits, shape, 'last < ?1', last))
    }
    if (rows.length < ROWS) return 0
    await turn()
  }
}

/** Deletes records from before a time. A clock that stepped may have left some among younger ones, so all are looked at. */
async function removeBefore(commits: Commits, shape: AnyShape, before: number): Promise<number> {
  const { table } = shape
  let gone = await removeRows(commits, shape, 'newest < ?1', before)
  for (let from: number | undefined = 0; from !== undefined; ) {
    const at: number = from
    const mixed: { last: number }[] = await commits.read(() =>
      commits.sql.all(
        `SELECT last FROM ${table} WHERE last > ? AND oldest < ? ORDER BY last LIMIT ${ROWS}`,
        at,
        before,
      ),
    )
    for (const { last } of mixed)
      gone += await commits.writeLater(() => cut(commits.sql, shape, last, (time) => time >= before))
    from = mixed.length < ROWS ? undefined : mixed.at(-1)?.last
    if (from !== undefined) await turn()
  }
  return gone
}

/** Deletes whole rows that fit a condition. */
async function removeRows(
  commits: Commits,
  shape: AnyShape,
  condition: string,
  value: number,
): Promise<number> {
  const find = `SELECT last, entries FROM ${shape.table} WHERE ${condition} ORDER BY last LIMIT ${ROWS}`
  const rows = () => commits.sql.all<{ last: number; entries: number }>(find, value)
  for (let gone = 0; ; ) {
    // Nobody has to wait for a lock where there is nothing to do.
    if ((await commits.read(rows)).length === 0) return gone
    gone += await commits.writeLater(() => {
      const some = rows()
      deleteRows(
        commits.sql,
        shape,
        some.map(({ last }) => last),
      )
      return some.reduce((sum, { entries }) => sum + entries, 0)
    })
    await turn()
  }
}

/** Compresses what is old, a chunk at a time, off the event loop. */
export async function compress(commits: Commits, shape: AnyShape): Promise<void> {
  const { table } = shape
  for (;;) {
    const chunk = await commits.read(() => oldChunk(commits.sql, table))
    if (chunk.length === 0) return
    const text = chunk.map(({ body }) => String(body).slice(1, -1)).join(',')
    const body = await deflate(`[${text}]`)
    await commits.writeLater(() => merge(commits.sql, shape, chunk, body))
  }
}

/** Puts one row in the place of several, unless another process has changed them meanwhile. */
function merge(sql: Connection, shape: AnyShape, chunk: readonly Row[], body: Uint8Array): void {
  const { table, columns, greatest } = shape
  const first = (chunk[0] as Row).first
  const { last } = chunk.at(-1) as Row
  const rows = sql.all<Record<string, Value>>(
    `SELECT * FROM ${table} WHERE last >= ? AND last <= ? ORDER BY last`,
    first,
    last,
  )
  if (rows.length !== chunk.length || rows.some((row, i) => row.body !== chunk[i]?.body)) return
  const all = (column: string) => rows.map((row) => row[column])
  const sets = columns.map((column) => new Set(all(column).flatMap((held) => JSON.parse(String(held)))))
  sql.run(`DELETE FROM ${table} WHERE last >= ? AND last <= ?`, first, last)
  const values: Value[] = [
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
function oldChunk(sql: Connection, table: string): Row[] {
  const newest = sql.get<{ last: number | null }>(`SELECT max(last) AS last FROM ${table}`)?.last ?? 0
  const rows = sql.all<Row & Record<string, Value>>(
    `SELECT first, last, body FROM ${table}
      WHERE last <= ? AND typeof(body) = 'text' ORDER BY last LIMIT ${CHUNK}`,
    newest - YOUNG,
  )
  const chunk: Row[] = []
  let count = 0
  for (const row of rows) {
    const end = chunk.at(-1)?.last
    if (count >= CHUNK || (end !== undefined && row.first !== end + 1)) break
    chunk.push(row)
    count += row.last - row.first + 1
  }
  return count >= CHUNK || chunk.length < rows.length ? chunk : []
}

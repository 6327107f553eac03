import { promisify } from 'node:util'
import { deflateRaw } from 'node:zlib'
import type { Body } from './bodies.js'
import { type Commits, turn } from './commits.js'
import type { Connection } from './connection.js'

const deflate = promisify(deflateRaw)

/** How many numbers are looked at before others have their turn. */
export const SPAN = 5000

/** How many records are deleted in one transaction. */
const DELETED = 1000

/** How many of the newest records are kept as they are, since they are what is asked for. */
const YOUNG = 10_000

/** How many records are compressed together, and how many rows of them are read for that at the most. */
const CHUNK = 256

/** Lets go of records older than `before`, and of the oldest beyond `maxEntries`. */
export async function expire(
  commits: Commits,
  table: string,
  { before, maxEntries }: { before?: Date | undefined; maxEntries?: number | undefined },
): Promise<number> {
  let gone = 0
  if (maxEntries !== undefined && maxEntries < Number.POSITIVE_INFINITY) {
    const keep = await oldestKept(commits, table, maxEntries)
    gone += await remove(commits, table, keep, 'TRUE', 0)
  }
  // A clock that stepped may have left old records among younger ones, so all are looked at.
  if (before !== undefined)
    gone += await remove(commits, table, Number.POSITIVE_INFINITY, 'time < ?2', before.getTime())
  return gone
}

/** The number from which on records stay, where only so many may. */
async function oldestKept(commits: Commits, table: string, maxEntries: number): Promise<number> {
  let left = maxEntries
  for (let edge = Number.MAX_SAFE_INTEGER; ; ) {
    if (left <= 0) return edge
    const take = Math.min(left, SPAN)
    const at: number = edge
    const found = await commits.read(
      () =>
        commits.sql.get<{ seq: number | null; n: number }>(
          `SELECT min(seq) AS seq, count(*) AS n FROM
            (SELECT seq FROM ${table} WHERE seq < ? ORDER BY seq DESC LIMIT ?)`,
          at,
          take,
        ) as { seq: number | null; n: number },
    )
    if (found.n < take || found.seq === null) return 0
    left -= take
    edge = found.seq
    await turn()
  }
}

/** Deletes records numbered below `end` that fit a condition, and whatever held nothing but such. */
async function remove(
  commits: Commits,
  table: string,
  end: number,
  condition: string,
  value: number,
): Promise<number> {
  let gone = 0
  for (let from = 0; ; ) {
    const at: number = from
    const next = await commits.read(
      () =>
        commits.sql.get<{ seq: number }>(`SELECT seq FROM ${table} WHERE seq >= ? ORDER BY seq LIMIT 1`, at)
          ?.seq,
    )
    if (next === undefined || next >= end) return gone
    from = Math.min(end, next + DELETED)
    const to = from
    const fit = await commits.read(
      () =>
        commits.sql.get(
          `SELECT seq FROM ${table} WHERE seq >= ?1 AND ${condition} AND seq < ?3 LIMIT 1`,
          next,
          value,
          to,
        ) !== undefined,
    )
    if (fit)
      gone += await commits.writeLater(() => {
        const { sql } = commits
        const some = sql.run(
          `DELETE FROM ${table} WHERE seq >= ?1 AND ${condition} AND seq < ?3`,
          next,
          value,
          to,
        )
        // A row of records goes when the last of them does.
        sql.run(
          `DELETE FROM ${table}_bodies WHERE first >= ? AND first < ?
            AND NOT EXISTS (SELECT 1 FROM ${table} WHERE seq BETWEEN first AND last)`,
          next - CHUNK - 32,
          to,
        )
        return some
      })
    await turn()
  }
}

/** Compresses what is old, a chunk at a time, off the event loop. */
export async function compress(commits: Commits, table: string): Promise<void> {
  for (;;) {
    const chunk = await commits.read(() => oldChunk(commits.sql, table))
    if (chunk.length === 0) return
    const { first } = chunk[0] as Body
    const { last } = chunk.at(-1) as Body
    const text = chunk.map(({ body }) => String(body).slice(1, -1)).join(',')
    const body = await deflate(`[${text}]`)
    await commits.writeLater(() => {
      const { sql } = commits
      const range = [first, last] as const
      const held = `${table}_bodies WHERE first >= ? AND last <= ? AND typeof(body) = 'text'`
      // Another process may have done it, or let go of it, meanwhile.
      if (sql.get<{ n: number }>(`SELECT count(*) AS n FROM ${held}`, ...range)?.n !== chunk.length) return
      sql.run(`DELETE FROM ${held}`, ...range)
      sql.run(`INSERT INTO ${table}_bodies VALUES (?, ?, ?)`, ...range, body)
    })
  }
}

/** The oldest rows that are not compressed, as long as their numbers are consecutive and make up a whole chunk. */
function oldChunk(sql: Connection, table: string): Body[] {
  const newest = sql.get<{ seq: number | null }>(`SELECT max(seq) AS seq FROM ${table}`)?.seq ?? 0
  const rows = sql.all<Body>(
    `SELECT first, last, body FROM ${table}_bodies
      WHERE last <= ? AND typeof(body) = 'text' ORDER BY first LIMIT ${CHUNK}`,
    newest - YOUNG,
  )
  const chunk: Body[] = []
  let count = 0
  for (const row of rows) {
    const end = chunk.at(-1)?.last
    if (count >= CHUNK || (end !== undefined && row.first !== end + 1)) break
    chunk.push(row)
    count += row.last - row.first + 1
  }
  return count >= CHUNK || chunk.length < rows.length ? chunk : []
}

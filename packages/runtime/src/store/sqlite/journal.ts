import type { z } from 'zod'
import type { Twin } from '../../codec/twin.js'
import { sessionCodec, type sessionSchema } from '../../records/session.js'
import { encodeCursor, readPaging } from '../cursor.js'
import type { Journal, Page, PageOptions, SessionFilter, SessionJournal } from '../store.js'
import { Bodies, writeBodies } from './bodies.js'
import { type Commits, turn } from './commits.js'
import type { Value } from './driver.js'
import { compress, expire, SPAN } from './history.js'
import type { Condition, Shape } from './journal-shapes.js'

interface Range extends PageOptions {
  from?: Date | undefined
  to?: Date | undefined
}

/** How many records make a transaction of their own. */
const FULL = 256

/** How many rows one statement inserts: calling a statement costs more than a row. */
const ROWS = 16

/** How many records are decoded before others have their turn. */
const DECODED = 200

/** Records that wait to be written together. */
interface Batch {
  /** The columns' values, row after row. */
  heads: Value[]
  texts: string[]
  written: Promise<void>
}

/** Records in the order they came. */
export class SqliteJournal<S extends z.ZodType, F extends Range> implements Journal<Twin<S>, F> {
  protected readonly commits: Commits
  protected readonly shape: Shape<S, F>
  /** Whether records must outlast a crash of the machine as well. */
  private readonly durable: boolean
  private batch: Batch | undefined

  constructor(commits: Commits, shape: Shape<S, F>, durable = false) {
    this.commits = commits
    this.shape = shape
    this.durable = durable
  }

  async append(records: readonly Twin<S>[]): Promise<void> {
    const { codec, nature, values } = this.shape
    const texts = records.map((record) => JSON.stringify(codec.encode(record)))
    let written: Promise<void> | undefined
    for (const [i, record] of records.entries()) {
      const batch = (this.batch ??= this.begin())
      batch.texts.push(texts[i] as string)
      batch.heads.push(nature.time(record).getTime(), ...values(record))
      if (batch.texts.length >= FULL) {
        this.batch = undefined
        this.commits.press()
      }
      // Batches are written in order, so the last one is written last.
      written = batch.written
    }
    await written
  }

  private begin(): Batch {
    const batch: Batch = { heads: [], texts: [], written: Promise.resolve() }
    const end = () => {
      if (this.batch === batch) this.batch = undefined
    }
    const work = () => {
      // From now on it takes no more, whether or not this comes to anything.
      end()
      this.insert(batch)
    }
    batch.written = this.durable ? this.commits.write(work) : this.commits.writeLater(work)
    batch.written.catch(end)
    return batch
  }

  private insert({ heads, texts }: Batch): void {
    const { sql } = this.commits
    const { table, columns } = this.shape
    const row = `(?${', ?'.repeat(columns.length)})`
    const into = `INSERT INTO ${table} (time, ${columns.join(', ')}) VALUES `
    const many = sql.statement(into + Array(ROWS).fill(row).join(', '))
    const one = sql.statement(into + row)
    const width = columns.length + 1
    let at = 0
    for (; at + ROWS * width <= heads.length; at += ROWS * width) many.run(heads.slice(at, at + ROWS * width))
    for (; at < heads.length; at += width) one.run(heads.slice(at, at + width))
    // Nobody else writes meanwhile, so the numbers are consecutive.
    const { last } = sql.get<{ last: number }>(`SELECT max(seq) AS last FROM ${table}`) as { last: number }
    writeBodies(sql, table, last - texts.length + 1, texts)
  }

  async list(filter?: F): Promise<Page<Twin<S>>> {
    const { limit, newest, after } = readPaging(filter, 'newest', [0])
    const conditions = this.conditionsOf(filter)
    const items: Twin<S>[] = []
    const numbers: number[] = []
    for (let edge = after?.[0] as number | undefined; ; ) {
      const want = Math.min(DECODED, limit + 1 - items.length)
      const part = await this.commits.read(() => this.part(conditions, filter, newest, edge, want))
      for (const [seq, record] of part.found) {
        numbers.push(seq)
        items.push(record)
      }
      if (items.length > limit) {
        items.length = limit
        return { items, cursor: encodeCursor(newest, [numbers[limit - 1] as number]) }
      }
      if (part.edge === undefined) return { items }
      edge = part.edge
      await turn()
    }
  }

  private conditionsOf(filter: F | undefined): Condition[] {
    if (filter === undefined) return []
    const { from, to } = filter
    return [
      ...(from === undefined ? [] : [['time >= ?', from.getTime()] as const]),
      ...(to === undefined ? [] : [['time < ?', to.getTime()] as const]),
      ...this.shape.conditions(filter),
    ]
  }

  /** Looks at a stretch of records beyond an edge. Tells those that fit, and the edge to go on from if there is more. */
  private part(
    conditions: readonly Condition[],
    filter: F | undefined,
    newest: boolean,
    edge: number | undefined,
    want: number,
  ) {
    const { sql } = this.commits
    const { table, codec, nature } = this.shape
    const found: [number, Twin<S>][] = []
    const { low, high } = sql.get<{ low: number | null; high: number }>(
      `SELECT (SELECT min(seq) FROM ${table}) AS low, (SELECT max(seq) FROM ${table}) AS high`,
    ) as { low: number | null; high: number }
    if (low === null) return { found, edge: undefined }
    const from = newest
      ? Math.max(low, Math.min(edge ?? high + 1, high + 1) - SPAN)
      : Math.max(low, (edge ?? 0) + 1)
    const to = newest ? Math.min(edge ?? high + 1, high + 1) : Math.min(high + 1, from + SPAN)
    const rows = sql.all<{ seq: number }>(
      `SELECT seq FROM ${table} WHERE seq >= ? AND seq < ? ${conditions.map(([text]) => `AND ${text} `).join('')}
       ORDER BY seq ${newest ? 'DESC' : 'ASC'} LIMIT ?`,
      from,
      to,
      ...conditions.flatMap(([, ...values]) => values),
      want,
    )
    const bodies = new Bodies(sql, table)
    for (const { seq } of rows) {
      const wire = bodies.get(seq)
      if (wire === undefined) continue
      const record = codec.decode(wire)
      if (filter === undefined || nature.fits(record, filter)) found.push([seq, record])
    }
    if (rows.length === want) return { found, edge: rows.at(-1)?.seq }
    const over = newest ? from <= low : to > high
    return { found, edge: over ? undefined : newest ? from : to - 1 }
  }

  async expire(limits: { before?: Date | undefined; maxEntries?: number | undefined }): Promise<number> {
    const gone = await expire(this.commits, this.shape.table, limits)
    await compress(this.commits, this.shape.table)
    return gone
  }

  async count(): Promise<number> {
    let sum = 0
    for (let from: number | undefined = 0; from !== undefined; ) {
      const at: number = from
      const part = await this.commits.read(() => {
        const { sql } = this.commits
        // Where the next record lies, so that a gap is passed over at once.
        const next = sql.get<{ seq: number }>(
          `SELECT seq FROM ${this.shape.table} WHERE seq >= ? ORDER BY seq LIMIT 1`,
          at,
        )?.seq
        if (next === undefined) return undefined
        const end = next + SPAN
        const counted = sql.get<{ n: number }>(
          `SELECT count(*) AS n FROM ${this.shape.table} WHERE seq >= ? AND seq < ?`,
          next,
          end,
        )
        return { n: counted?.n ?? 0, end }
      })
      sum += part?.n ?? 0
      from = part?.end
      if (from !== undefined) await turn()
    }
    return sum
  }
}

/** Sessions can be asked for by id besides. */
export class SqliteSessions
  extends SqliteJournal<typeof sessionSchema, SessionFilter>
  implements SessionJournal
{
  get(id: string): Promise<Twin<typeof sessionSchema> | undefined> {
    return this.commits.read(() => {
      const { sql } = this.commits
      const head = sql.get<{ seq: number }>(
        'SELECT seq FROM sessions WHERE session_id = ? ORDER BY seq DESC LIMIT 1',
        id,
      )
      const wire = head && new Bodies(sql, 'sessions').get(head.seq)
      return wire === undefined ? undefined : sessionCodec.decode(wire)
    })
  }
}

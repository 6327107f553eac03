import type { z } from 'zod'
import type { Twin } from '../../codec/twin.js'
import type { RetrySession, sessionSchema } from '../../records/session.js'
import { encodeCursor, readPaging } from '../cursor.js'
import { matchesFilter } from '../fits.js'
import type { Journal, Page, PageOptions, SessionFilter, SessionJournal } from '../store.js'
import { toColumn } from '../text.js'
import { type Commits, turn } from './commits.js'
import type { Value } from './driver.js'
import { compress, expire, SPAN } from './history.js'
import type { Condition, Shape } from './journal-shapes.js'
import { type Row, RowDraft, recordsOf, rowOf, WIDEST, writeIds, writeRows } from './rows.js'

interface Range extends PageOptions {
  from?: Date | undefined
  to?: Date | undefined
}

/** How many records make a transaction of their own. */
const FULL = 512

/** How many rows are read before others have their turn, and how many are counted. */
const ROWS = 4
const COUNTED = 2000

/** How many records are decoded before others have their turn. */
const DECODED = 200

/** Records that wait to be written together. */
interface Batch<S extends z.ZodType> {
  rows: RowDraft<S>[]
  entries: number
  /** By which they can be asked for. */
  ids: string[]
  written: Promise<void>
}

/** Records in the order they came. */
export class SqliteJournal<S extends z.ZodType, F extends Range> implements Journal<Twin<S>, F> {
  protected readonly commits: Commits
  protected readonly shape: Shape<S, F>
  /** Whether records must outlast a crash of the machine as well. */
  private readonly durable: boolean
  private batch: Batch<S> | undefined

  constructor(commits: Commits, shape: Shape<S, F>, durable = false) {
    this.commits = commits
    this.shape = shape
    this.durable = durable
  }

  async append(records: readonly Twin<S>[]): Promise<void> {
    let written: Promise<void> | undefined
    for (const record of records) {
      const batch = (this.batch ??= this.begin())
      let row = batch.rows.at(-1)
      if (row === undefined || row.full) batch.rows.push((row = new RowDraft(this.shape as Shape<S, never>)))
      row.add(record)
      this.noted(record, batch)
      if (++batch.entries >= FULL) {
        this.batch = undefined
        this.commits.press()
      }
      // Batches are written in order, so the last one is written last.
      written = batch.written
    }
    await written
  }

  private begin(): Batch<S> {
    const batch: Batch<S> = { rows: [], entries: 0, ids: [], written: Promise.resolve() }
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

  /** A record comes into a batch. */
  protected noted(_record: Twin<S>, _batch: Batch<S>): void {}

  protected insert({ rows }: Batch<S>): number {
    return writeRows(this.commits.sql, this.shape as Shape<S, never>, rows)
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
      ...(from === undefined ? [] : [['newest >= ?', from.getTime()] as const]),
      ...(to === undefined ? [] : [['oldest < ?', to.getTime()] as const]),
      ...this.shape.conditions(filter),
    ]
  }

  /** The records of a row; none where it is damaged. */
  protected recordsOf(row: Row): unknown[] {
    try {
      return recordsOf(row)
    } catch {
      // What the parser says may quote a record.
      this.commits.leaveOut(this.shape.table, row.last)
      return []
    }
  }

  /** Looks at a stretch of records beyond an edge. Tells those that fit, and the edge to go on from if there is more. */
  private part(
    conditions: readonly Condition[],
    filter: F | undefined,
    newest: boolean,
    edge: number | undefined,
    want: number,
  ): { found: [number, Twin<S>][]; edge: number | undefined } {
    const { sql } = this.commits
    const { table, text } = this.shape
    const found: [number, Twin<S>][] = []
    const { low, high } = sql.get(
      `SELECT (SELECT first FROM ${table} ORDER BY last LIMIT 1) AS low, (SELECT max(last) FROM ${table}) AS high`,
    ) as { low: number | null; high: number }
    if (low === null) return { found, edge: undefined }
    const from = newest
      ? Math.max(low, Math.min(edge ?? high + 1, high + 1) - SPAN)
      : Math.max(low, (edge ?? 0) + 1)
    const to = newest ? Math.min(edge ?? high + 1, high + 1) : Math.min(high + 1, from + SPAN)
    const rows = sql.all<Row & Record<string, Value>>(
      `SELECT first, last, body FROM ${table} WHERE last >= ? AND last < ? AND first < ?
       ${conditions.map(([condition]) => `AND ${condition} `).join('')}
       ORDER BY last ${newest ? 'DESC' : 'ASC'} LIMIT ${ROWS}`,
      from,
      to + WIDEST,
      to,
      ...conditions.flatMap(([, ...values]) => values),
    )
    for (const row of rows) {
      const records = this.recordsOf(row)
      for (let i = 0; i < records.length; i++) {
        const index = newest ? records.length - 1 - i : i
        const seq = row.first + index
        if (seq < from || seq >= to || records[index] === null) continue
        const record = text.revive(records[index])
        if (filter !== undefined && !matchesFilter(this.shape.nature, record, filter)) continue
        found.push([seq, record])
        if (found.length === want) return { found, edge: seq }
      }
    }
    const last = rows.length === ROWS ? rows.at(-1) : undefined
    if (last !== undefined)
      return { found, edge: newest ? Math.max(last.first, from) : Math.min(last.last, to - 1) }
    const over = newest ? from <= low : to > high
    return { found, edge: over ? undefined : newest ? from : to - 1 }
  }

  async expire(limits: { before?: Date | undefined; maxEntries?: number | undefined }): Promise<number> {
    const gone = await expire(this.commits, this.shape, limits)
    await compress(this.commits, this.shape)
    return gone
  }

  async count(): Promise<number> {
    const { table } = this.shape
    let sum = 0
    for (let from: number | undefined = 0; from !== undefined; ) {
      const at: number = from
      const part = await this.commits.read(
        () =>
          this.commits.sql.get(
            `SELECT sum(entries) AS n, max(last) AS last FROM
              (SELECT entries, last FROM ${table} WHERE last > ? ORDER BY last LIMIT ${COUNTED})`,
            at,
          ) as { n: number | null; last: number | null },
      )
      sum += part.n ?? 0
      from = part.last ?? undefined
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
  protected override noted({ sessionId }: RetrySession, { ids }: Batch<typeof sessionSchema>): void {
    ids.push(sessionId)
  }

  protected override insert(batch: Batch<typeof sessionSchema>): number {
    const first = super.insert(batch)
    writeIds(this.commits.sql, batch.ids, first)
    return first
  }

  get(id: string): Promise<Twin<typeof sessionSchema> | undefined> {
    return this.commits.read(() => {
      const { sql } = this.commits
      const { seq } =
        sql.get<{ seq: number }>(
          'SELECT max(seq) AS seq FROM session_ids WHERE session_id = ?',
          toColumn(id),
        ) ?? {}
      const row = seq == null ? undefined : rowOf(sql, 'sessions', seq)
      const wire = row && this.recordsOf(row)[(seq as number) - row.first]
      return wire == null ? undefined : this.shape.text.revive(wire)
    })
  }
}

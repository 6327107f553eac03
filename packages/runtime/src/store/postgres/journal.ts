import type { z } from 'zod'
import type { Twin } from '../../codec/twin.js'
import { sessionCodec, type sessionSchema } from '../../records/session.js'
import { encodeCursor, readPaging } from '../cursor.js'
import { matchesFilter } from '../fits.js'
import type { Journal, Page, PageOptions, SessionFilter, SessionJournal } from '../store.js'
import { toColumn } from '../text.js'
import type { Database } from './database.js'
import type { Value } from './driver.js'
import { sqlState } from './failure.js'
import { Gather } from './gather.js'
import type { Shape } from './journal-shapes.js'
import { Partitions } from './partitions.js'
import type { Sql } from './sql.js'

interface Range extends PageOptions {
  from?: Date | undefined
  to?: Date | undefined
}

/** How many records one statement inserts. */
const TOGETHER = 512

/** How many records are read and decoded before others have their turn. */
const DECODED = 200

/** Among how many of the latest records one is looked for whose COMMIT was not answered. */
const LATEST = 100_000

/** What the server says where a record's partition is not there. */
const NO_PARTITION = '23514'

interface Line {
  time: number
  values: (string | boolean | null)[]
  body: string
}

/**
 * Records in the order they came. Those who append take turns, so that numbers are given in the order of commits, and
 * whoever follows a list from its oldest record misses none.
 */
export class PostgresJournal<S extends z.ZodType, F extends Range> implements Journal<Twin<S>, F> {
  protected readonly database: Database
  private readonly shape: Shape<S, F>
  private readonly durable: boolean
  private readonly partitions: Partitions
  private readonly gather: Gather<Line, void>

  constructor(database: Database, shape: Shape<S, F>, durable = false) {
    this.database = database
    this.shape = shape
    this.durable = durable
    this.partitions = new Partitions(database, shape.table, shape.days)
    this.gather = new Gather((lines) => this.insert(lines), {
      most: TOGETHER,
      lanes: 1,
      size: ({ body }) => body.length,
    })
  }

  idle(): Promise<void> {
    return this.gather.idle()
  }

  async append(records: readonly Twin<S>[]): Promise<void> {
    const { codec, nature, values } = this.shape
    const lines = records.map((record) => ({
      time: nature.time(record).getTime(),
      values: values(record),
      body: JSON.stringify(codec.encode(record)),
    }))
    const written = []
    for (let at = 0; at < lines.length; at += TOGETHER)
      written.push(this.gather.put(lines.slice(at, at + TOGETHER)))
    await Promise.all(written)
  }

  private async insert(lines: readonly Line[]): Promise<void[]> {
    const times = lines.map(({ time }) => time)
    for (let again = true; ; again = false) {
      await this.partitions.make(times)
      try {
        await this.insertInto(lines, times)
        return lines.map(() => {})
      } catch (error) {
        // Another process let go of that stretch of time meanwhile.
        if (!again || sqlState((error as Error).cause) !== NO_PARTITION) throw error
        this.partitions.forget()
      }
    }
  }

  private insertInto(lines: readonly Line[], times: readonly number[]): Promise<void> {
    const table = this.database.table(this.shape.table)
    const names = Object.keys(this.shape.columns)
    const types = Object.values(this.shape.columns)
    const arrays = [
      '$1::bigint[]',
      ...types.map((type, i) => `$${i + 2}::${type}[]`),
      `$${types.length + 2}::text[]`,
    ]
    const columns = ['time', ...names, 'body'].join(', ')
    const statement = `INSERT INTO ${table} (${columns})
      SELECT ${columns} FROM unnest(${arrays.join(', ')}) WITH ORDINALITY AS given (${columns}, place)
      ORDER BY place`
    const values = names.map((_, i) => lines.map((line) => line.values[i] as string | null))
    const bodies = lines.map(({ body }) => body)
    return this.database.write(
      // Others wait for their turn until it is committed, so that is not left for another round trip.
      (sql) => sql.finish(undefined, statement, times, ...values, bodies),
      {
        lock: this.partitions.lock,
        durable: this.durable,
        // Looked for among the latest, which an index finds.
        proof: async (sql) =>
          (
            await sql.all(
              `SELECT 1 FROM ${table} WHERE seq > (SELECT last_value FROM ${this.database.table(`${this.shape.table}_seq`)}) - ${LATEST}
                AND body = $1 LIMIT 1`,
              bodies[0] as string,
            )
          ).length > 0,
      },
    )
  }

  async list(filter?: F): Promise<Page<Twin<S>>> {
    const { limit, newest, after } = readPaging(filter, 'newest', [0])
    await this.idle()
    const { codec, nature } = this.shape
    const items: Twin<S>[] = []
    let [edge, last] = [after?.[0] as number | undefined, 0]
    for (;;) {
      const want = Math.min(DECODED, limit + 1 - items.length)
      const from = edge
      const rows = await this.database.read((sql) => this.part(sql, filter, newest, from, want))
      for (const { seq, body } of rows) {
        edge = Number(seq)
        const record = codec.decode(JSON.parse(body))
        if (filter !== undefined && !matchesFilter(nature, record, filter)) continue
        if (items.length === limit) return { items, cursor: encodeCursor(newest, [last]) }
        items.push(record)
        last = edge
      }
      if (rows.length < want) return { items }
    }
  }

  private part(sql: Sql, filter: F | undefined, newest: boolean, edge: number | undefined, want: number) {
    const values: Value[] = []
    const conditions = ['TRUE']
    const also = (text: string, value: Value) => conditions.push(text.replace('?', `$${values.push(value)}`))
    if (edge !== undefined) also(newest ? 'seq < ?' : 'seq > ?', edge)
    if (filter?.from !== undefined) also('time >= ?', filter.from.getTime())
    if (filter?.to !== undefined) also('time < ?', filter.to.getTime())
    if (filter !== undefined) for (const [text, value] of this.shape.conditions(filter)) also(text, value)
    return sql.all<{ seq: string; body: string }>(
      `SELECT seq, body FROM ${this.database.table(this.shape.table)} WHERE ${conditions.join(' AND ')}
        ORDER BY seq ${newest ? 'DESC' : 'ASC'} LIMIT ${want}`,
      ...values,
    )
  }

  async expire(limits: { before?: Date | undefined; maxEntries?: number | undefined }): Promise<number> {
    const { before, maxEntries = Number.POSITIVE_INFINITY } = limits
    await this.idle()
    return this.database.write(
      async (sql) => {
        let gone = 0
        if (before !== undefined) gone += await this.partitions.expire(sql, { before: before.getTime() })
        if (maxEntries < Number.POSITIVE_INFINITY) {
          const keep = await this.oldestKept(sql, maxEntries)
          if (keep !== undefined) gone += await this.partitions.expire(sql, { keep })
        }
        return gone
      },
      { lock: this.partitions.lock },
    )
  }

  /** The number from which on records stay, where only so many may; undefined where all may. */
  private async oldestKept(sql: Sql, maxEntries: number): Promise<string | undefined> {
    const table = this.database.table(this.shape.table)
    const [first] = await sql.all<{ seq: string }>(
      `SELECT seq + 1 AS seq FROM ${table} ORDER BY seq DESC OFFSET $1 LIMIT 1`,
      maxEntries,
    )
    return first?.seq
  }

  async count(): Promise<number> {
    await this.idle()
    return this.database.read(async (sql) => {
      const [row] = await sql.all<{ n: string }>(
        `SELECT count(*) AS n FROM ${this.database.table(this.shape.table)}`,
      )
      return Number(row?.n)
    })
  }
}

/** Sessions can be asked for by id besides. */
export class PostgresSessions
  extends PostgresJournal<typeof sessionSchema, SessionFilter>
  implements SessionJournal
{
  async get(id: string): Promise<Twin<typeof sessionSchema> | undefined> {
    await this.idle()
    return this.database.read(async (sql) => {
      const [row] = await sql.all<{ body: string }>(
        `SELECT body FROM ${this.database.table('sessions')} WHERE session_id = $1 ORDER BY seq DESC LIMIT 1`,
        toColumn(id),
      )
      return row && sessionCodec.decode(JSON.parse(row.body))
    })
  }
}

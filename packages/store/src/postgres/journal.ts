import { type CamelCased, sessionCodec, type sessionSchema } from '@holdfast/records'
import type { z } from 'zod'
import { encodeCursor, parsePaging } from '../cursor.js'
import { matchesFilter } from '../filters.js'
import type { Journal, Page, SessionFilter, SessionJournal, TimeRangeFilter } from '../journals.js'
import { parseOrUndefined } from '../readable-rows.js'
import { toColumn } from '../text.js'
import { BatchLoader } from './batch-loader.js'
import type { PostgresDatabase } from './database.js'
import { sqlState } from './failure.js'
import type { PartitionedJournal } from './journal-tables.js'
import { Partitions } from './partitions.js'
import type { SqlTransaction } from './sql.js'
import { journalStatements } from './statements/journal.js'
import { type PostgresValue, StatementValues } from './statements/parameters.js'

/** How many records one statement inserts. */
const RECORDS_PER_INSERT = 512

/** How many records are read and decoded at a time. */
const RECORDS_PER_READ = 200

/** Among how many of the latest records those are searched whose COMMIT got no reply. */
const MAX_UNCONFIRMED_SEARCH = 100_000

/** The error for a record without a partition. */
const NO_PARTITION_SQLSTATE = '23514'

interface PendingRecord {
  time: number
  values: (string | boolean | null)[]
  body: string
}

/**
 * Records in the order of insertion. Appends of all processes are serialized by a lock, so that numbers are in the order of
 * commits, and a reader that follows a list from its oldest record does not miss any.
 */
export class PostgresJournal<S extends z.ZodType, F extends TimeRangeFilter>
  implements Journal<CamelCased<S>, F>
{
  protected readonly database: PostgresDatabase
  private readonly table: PartitionedJournal<S, F>
  protected readonly statements: ReturnType<typeof journalStatements>
  private readonly isDurable: boolean
  private readonly partitions: Partitions
  private readonly loader: BatchLoader<PendingRecord, void>

  constructor(database: PostgresDatabase, table: PartitionedJournal<S, F>, isDurable = false) {
    this.database = database
    this.table = table
    this.statements = journalStatements(database.table, table.table)
    this.isDurable = isDurable
    this.partitions = new Partitions(database, table.table, table.partitionDays)
    this.loader = new BatchLoader((lines) => this.insert(lines), {
      maxItems: RECORDS_PER_INSERT,
      maxConcurrent: 1,
      runLater: database.runLater,
      sizeOf: ({ body }) => body.length,
    })
  }

  whenIdle(): Promise<void> {
    return this.loader.whenIdle()
  }

  async append(records: readonly CamelCased<S>[]): Promise<void> {
    const { write, recordFilter, values } = this.table
    const lines = records.map((record) => ({
      time: recordFilter.timeOf(record).getTime(),
      values: values(record),
      body: write(record),
    }))
    const written = []
    for (let at = 0; at < lines.length; at += RECORDS_PER_INSERT)
      written.push(this.loader.load(lines.slice(at, at + RECORDS_PER_INSERT)))
    // No record is written after a call has failed, so it waits for all batches.
    await Promise.allSettled(written)
    await Promise.all(written)
  }

  private async insert(lines: readonly PendingRecord[]): Promise<void[]> {
    const times = lines.map(({ time }) => time)
    for (let shouldRetry = true; ; shouldRetry = false) {
      await this.partitions.createFor(times)
      try {
        await this.insertInto(lines, times)
        return lines.map(() => {})
      } catch (error) {
        // Another process has dropped the partition meanwhile.
        if (!shouldRetry || sqlState((error as Error).cause) !== NO_PARTITION_SQLSTATE) throw error
        this.partitions.clearCache()
      }
    }
  }

  private insertInto(lines: readonly PendingRecord[], times: readonly number[]): Promise<void> {
    const { columns } = this.table
    const values = Object.keys(columns).map((_, i) => lines.map((line) => line.values[i] as string | null))
    const bodies = lines.map(({ body }) => body)
    return this.database.write(
      // COMMIT is sent together with the statement, because other appends wait for the lock until then.
      (sql) => sql.finish(undefined, this.statements.insert(columns), times, ...values, bodies),
      {
        lock: this.partitions.lock,
        durable: this.isDurable,
        isCommitted: async (sql) => {
          // All records are searched: some can be stored by an earlier append that failed for the caller, who sends them again
          // together with new ones.
          const statement = this.statements.countAmongLatest(MAX_UNCONFIRMED_SEARCH)
          const [found] = await sql.all<{ n: string }>(statement, bodies)
          return Number(found?.n) === new Set(bodies).size
        },
      },
    )
  }

  async list(filter?: F): Promise<Page<CamelCased<S>>> {
    const { limit, isNewestFirst, after } = parsePaging(filter, 'newest', [0])
    await this.whenIdle()
    const { codec, recordFilter } = this.table
    const items: CamelCased<S>[] = []
    let [edge, last] = [after?.[0] as number | undefined, 0]
    for (;;) {
      const want = Math.min(RECORDS_PER_READ, limit + 1 - items.length)
      const from = edge
      const rows = await this.database.read((sql) => this.readPart(sql, filter, isNewestFirst, from, want))
      for (const { seq, body } of rows) {
        edge = Number(seq)
        const record = parseOrUndefined(body, (text) => codec.decode(JSON.parse(text)))
        if (record === undefined) {
          this.database.unreadableRows.report(this.table.table, edge)
          continue
        }
        if (filter !== undefined && !matchesFilter(recordFilter, record, filter)) continue
        if (items.length === limit) return { items, cursor: encodeCursor(isNewestFirst, [last]) }
        items.push(record)
        last = edge
      }
      if (rows.length < want) return { items }
    }
  }

  private readPart(
    sql: SqlTransaction,
    filter: F | undefined,
    isNewestFirst: boolean,
    edge: number | undefined,
    want: number,
  ) {
    const values = new StatementValues()
    const conditions = ['TRUE']
    const addCondition = (text: string, value: PostgresValue) =>
      conditions.push(text.replace('?', values.add(value)))
    if (edge !== undefined) addCondition(isNewestFirst ? 'seq < ?' : 'seq > ?', edge)
    if (filter?.from !== undefined) addCondition('time >= ?', filter.from.getTime())
    if (filter?.to !== undefined) addCondition('time < ?', filter.to.getTime())
    if (filter !== undefined)
      for (const [text, value] of this.table.conditions(filter)) addCondition(text, value)
    return sql.all<{ seq: string; body: string }>(
      this.statements.select(conditions, isNewestFirst, want),
      ...values.list,
    )
  }

  async expire(limits: { before?: Date | undefined; maxEntries?: number | undefined }): Promise<number> {
    const { before, maxEntries = Number.POSITIVE_INFINITY } = limits
    await this.whenIdle()
    return this.database.write(
      async (sql) => {
        let deleted = 0
        if (before !== undefined) deleted += await this.partitions.expire(sql, { before: before.getTime() })
        if (maxEntries < Number.POSITIVE_INFINITY) {
          const keep = await this.oldestKept(sql, maxEntries)
          if (keep !== undefined) deleted += await this.partitions.expire(sql, { keep })
        }
        return deleted
      },
      { lock: this.partitions.lock },
    )
  }

  /** The number of the oldest record to keep, so that `maxEntries` are left; undefined to keep all. */
  private async oldestKept(sql: SqlTransaction, maxEntries: number): Promise<string | undefined> {
    const [first] = await sql.all<{ seq: string }>(this.statements.selectOldestKept, maxEntries)
    return first?.seq
  }

  async count(): Promise<number> {
    await this.whenIdle()
    return this.database.read(async (sql) => {
      const [row] = await sql.all<{ n: string }>(this.statements.count)
      return Number(row?.n)
    })
  }
}

/** A journal of sessions, which can also be read by id. */
export class PostgresSessions
  extends PostgresJournal<typeof sessionSchema, SessionFilter>
  implements SessionJournal
{
  async get(id: string): Promise<CamelCased<typeof sessionSchema> | undefined> {
    await this.whenIdle()
    return this.database.read(async (sql) => {
      const [row] = await sql.all<{ seq: string; body: string }>(this.statements.selectSession, toColumn(id))
      if (row === undefined) return undefined
      const session = parseOrUndefined(row.body, (text) => sessionCodec.decode(JSON.parse(text)))
      if (session === undefined) this.database.unreadableRows.report('sessions', Number(row.seq))
      return session
    })
  }
}

import { randomUUID } from 'node:crypto'
import type { DeadLetter, DeadLetterStatus } from '@holdfast/records'
import { encodeCursor, parsePaging } from '../cursor.js'
import { createEntryChanges } from '../dead-letter-decisions.js'
import { toQuery } from '../dead-letter-index.js'
import { startOfDay, viewAt } from '../dead-letter-rules.js'
import type { RowSelection } from '../dead-letter-selection.js'
import { type StatusCount, toStats, zeroCounts } from '../dead-letter-stats.js'
import type {
  DeadLetterFilter,
  DeadLetterSelector,
  DeadLetterStats,
  DeadLetterStore,
} from '../dead-letter-store.js'
import type { Page } from '../journals.js'
import { hashName } from '../text.js'
import type { PostgresDatabase } from './database.js'
import { DeadLetterChanges } from './dead-letter-changes.js'
import { DeadLetterInserts, type Inserted } from './dead-letter-inserts.js'
import { type PostgresDeadLetterRow, readableDeadLetters } from './dead-letter-rows.js'
import type { SqlTransaction } from './sql.js'
import { NOTIFY, requestsChannel } from './statements/connection.js'
import { deadLetterStatements, type RowPosition } from './statements/dead-letters.js'

/** How many entries are read, leased or deleted at a time. */
const BATCH_SIZE = 200

/** The named value with the latest completion of an entry whose processed id was deleted, epoch milliseconds. */
const DELETED_PROCESSED_KEY = 'dead_letters_processed_ids_deleted'

/** Dead letters in a table. Every change is a transaction that is durable when its promise resolves. */
export class PostgresDeadLetters implements Omit<DeadLetterStore, 'add'> {
  private readonly database: PostgresDatabase
  private readonly statements: ReturnType<typeof deadLetterStatements>
  private readonly inserts: DeadLetterInserts
  private readonly changes: DeadLetterChanges
  private readonly entryChanges = createEntryChanges(
    (id, decide) => this.changes.change(id, decide),
    (id, decide) => this.changes.endLease(id, decide),
  )
  readonly lease = this.entryChanges.lease
  readonly renew = this.entryChanges.renew
  readonly settle = this.entryChanges.settle
  readonly complete = this.entryChanges.complete
  readonly request = this.entryChanges.request
  readonly edit = this.entryChanges.edit
  readonly rewrite = this.entryChanges.rewrite

  constructor(database: PostgresDatabase) {
    this.database = database
    this.statements = deadLetterStatements(database.table)
    this.inserts = new DeadLetterInserts(database)
    this.changes = new DeadLetterChanges(database, async (sql) => {
      await sql.all(NOTIFY, requestsChannel(database.address.schema), '')
    })
  }

  async whenIdle(): Promise<void> {
    await Promise.all([this.inserts.whenIdle(), this.changes.whenIdle()])
  }

  add(entries: readonly DeadLetter[], limits: { maxEntries: number }): Promise<Inserted[]> {
    return this.inserts.add(entries, limits.maxEntries)
  }

  async get(id: string, now: Date): Promise<DeadLetter | undefined> {
    const [row] = await this.database.read((sql) =>
      sql.all<PostgresDeadLetterRow>(this.statements.select, hashName(id)),
    )
    const [stored] = row === undefined ? [] : readableDeadLetters(this.database, [row])
    return stored && viewAt(stored.entry, now.getTime())
  }

  async list(filter: DeadLetterFilter | undefined, now: Date): Promise<Page<DeadLetter>> {
    const { limit, isNewestFirst, after } = parsePaging(filter, 'oldest', [0, 0])
    const selection: RowSelection = toQuery(filter ?? {})
    const items: DeadLetter[] = []
    let last: RowPosition | undefined = after && { created_at: after[0] as number, seq: after[1] as number }
    for (;;) {
      const want = Math.min(BATCH_SIZE, limit - items.length)
      // One more than wanted shows whether there is another page.
      const statement = this.statements.selectPage(selection, now.getTime(), {
        isNewestFirst,
        after: last,
        limit: want + 1,
      })
      if (statement === undefined) return { items }
      const rows = await this.database.read((sql) =>
        sql.all<PostgresDeadLetterRow>(statement.text, ...statement.values),
      )
      for (const { entry } of readableDeadLetters(this.database, rows.slice(0, want)))
        items.push(viewAt(entry, now.getTime()))
      if (rows.length <= want) return { items }
      last = rows[want - 1] as PostgresDeadLetterRow
      if (items.length >= limit)
        return { items, cursor: encodeCursor(isNewestFirst, [Number(last.created_at), Number(last.seq)]) }
    }
  }

  async count(selector: DeadLetterSelector, now: Date): Promise<Record<DeadLetterStatus, number>> {
    const counts = zeroCounts()
    const statement = this.statements.count(toQuery(selector), now.getTime())
    if (statement === undefined) return counts
    const rows = await this.database.read((sql) =>
      sql.all<{ status: DeadLetterStatus; n: string }>(statement.text, ...statement.values),
    )
    for (const { status, n } of rows) counts[status] = Number(n)
    return counts
  }

  async leaseNext(
    want: Parameters<DeadLetterStore['leaseNext']>[0],
    owner: string,
    until: Date,
    now: Date,
  ): Promise<DeadLetter[]> {
    const leased: DeadLetter[] = []
    while (leased.length < want.limit) {
      const limit = Math.min(BATCH_SIZE, want.limit - leased.length)
      const batch = await this.leaseNextBatch(want, limit, owner, until, now)
      leased.push(...batch)
      if (batch.length < limit) break
    }
    return leased
  }

  private async leaseNextBatch(
    selection: RowSelection,
    limit: number,
    owner: string,
    until: Date,
    now: Date,
  ) {
    const token = randomUUID()
    const statement = this.statements.lease(selection, now.getTime(), limit, {
      owner,
      until: until.getTime(),
      token,
    })
    if (statement === undefined) return []
    const { rows } = await this.database.write<{ rows: PostgresDeadLetterRow[] }>(
      // COMMIT is sent together with the statement, because other transactions wait for the counts until then.
      (sql) =>
        sql.finishInto<PostgresDeadLetterRow, { rows: PostgresDeadLetterRow[] }>(
          { rows: [] },
          statement.text,
          ...statement.values,
        ),
      {
        // The leased entries are read again, because the reply with them was lost.
        isCommitted: async (sql, taken) => {
          taken.rows = await sql.all<PostgresDeadLetterRow>(this.statements.selectLeasedBy, token)
          return taken.rows.length > 0
        },
      },
    )
    const stored = readableDeadLetters(this.database, rows)
    this.changes.rememberLeases(stored)
    return stored.map(({ entry }) => entry)
  }

  async isProcessed(id: string): Promise<boolean> {
    return (await this.findProcessed([id])).size > 0
  }

  /** Selects the ids that were ever completed. */
  async findProcessed(ids: readonly string[], attempts?: number): Promise<ReadonlySet<string>> {
    const byHash = new Map(ids.map((id) => [hashName(id), id]))
    const rows = await this.database.read(
      (sql) => sql.all<{ id: string }>(this.statements.selectProcessed, [...byHash.keys()]),
      { attempts },
    )
    return new Set(rows.map(({ id }) => byHash.get(id) as string))
  }

  async deleteProcessedIds(before: Date): Promise<number> {
    const key = DELETED_PROCESSED_KEY
    const [row] = await this.database.write((sql) =>
      sql.all<{ n: string }>(this.statements.deleteProcessed, startOfDay(before), hashName(key), key),
    )
    return Number(row?.n)
  }

  /** The latest completion of an entry whose processed id was deleted; undefined if no id was deleted. */
  async lastDeletedCompletion(): Promise<Date | undefined> {
    const [row] = await this.database.read(
      (sql) =>
        sql.all<{ value: string }>(this.statements.selectDeletedProcessed, hashName(DELETED_PROCESSED_KEY)),
      // One attempt, because a failed move is retried later.
      { attempts: 1 },
    )
    return row && new Date(Number(row.value))
  }

  async purge(filter: Parameters<DeadLetterStore['purge']>[0], now: Date): Promise<number> {
    const { limit = Number.POSITIVE_INFINITY, order } = filter
    for (let purged = 0; ; ) {
      const size = Math.min(BATCH_SIZE, limit - purged)
      const statement = this.statements.purge(toQuery(filter), now.getTime(), {
        isNewestFirst: order === 'newest',
        limit: size,
      })
      if (statement === undefined || size === 0) return purged
      const found = await this.database.write(
        (sql) => sql.all<{ seq: string; is_deleted: boolean }>(statement.text, ...statement.values),
        { isCommitted: (sql, entries) => this.areDeleted(sql, entries) },
      )
      purged += found.filter((entry) => entry.is_deleted).length
      // Fewer may have been deleted than found, because other transactions changed them meanwhile.
      if (found.length < size) return purged
    }
  }

  /** Whether a purge was committed whose reply was lost. Without this, it would delete as many entries again. */
  private async areDeleted(
    sql: SqlTransaction,
    found: readonly { seq: string; is_deleted: boolean }[],
  ): Promise<boolean> {
    const deleted = found.filter((entry) => entry.is_deleted).map(({ seq }) => seq)
    return deleted.length > 0 && (await sql.all(this.statements.hasAny, deleted)).length === 0
  }

  stats(now: Date): Promise<DeadLetterStats> {
    return this.database.read(async (sql) => {
      const counts = await sql.all<StatusCount>(this.statements.selectCounts, now.getTime())
      const [oldest] = await sql.all<{ at: string }>(this.statements.selectOldestOpen)
      return toStats(counts, oldest && Number(oldest.at))
    })
  }
}

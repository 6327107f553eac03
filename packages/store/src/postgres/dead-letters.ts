import { randomUUID } from 'node:crypto'
import type { DeadLetter } from '@holdfast/records'
import { encodeCursor, parsePaging } from '../cursor.js'
import { toQuery } from '../dead-letter-index.js'
import { asCompleted, asSettled, isLeased, leaseStateOf, viewAt, withLease } from '../dead-letter-rules.js'
import { serializePayload } from '../payload.js'
import type {
  DeadLetterFilter,
  DeadLetterStats,
  DeadLetterStore,
  Leased,
  Page,
  Settlement,
} from '../store.js'
import { toColumn } from '../text.js'
import type { PostgresDatabase } from './database.js'
import { DeadLetterChanges, type EntryChange } from './dead-letter-changes.js'
import { countUpdate } from './dead-letter-counts.js'
import { DeadLetterInserts, type Inserted } from './dead-letter-inserts.js'
import {
  type DeadLetterSelection,
  type RowPosition,
  StatementValues,
  selectLeasable,
  selectPositions,
} from './dead-letter-queries.js'
import { fromRow, type PostgresDeadLetterRow } from './dead-letter-rows.js'
import { readStats } from './dead-letter-stats.js'
import { hashName } from './names.js'
import { requestsChannel } from './replay-notifications.js'

/** How many entries are read, leased or deleted at a time. */
const BATCH_SIZE = 200

/** Dead letters in a table. Every change is a transaction that is durable when its promise resolves. */
export class PostgresDeadLetters implements Omit<DeadLetterStore, 'add'> {
  private readonly database: PostgresDatabase
  private readonly table: string
  private readonly inserts: DeadLetterInserts
  private readonly changes: DeadLetterChanges

  constructor(database: PostgresDatabase) {
    this.database = database
    this.table = database.table('dead_letters')
    this.inserts = new DeadLetterInserts(database)
    this.changes = new DeadLetterChanges(database, async (sql) => {
      await sql.all('SELECT pg_notify($1, $2)', requestsChannel(database.address.schema), '')
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
      sql.all<PostgresDeadLetterRow>(`SELECT * FROM ${this.table} WHERE id = $1`, hashName(id)),
    )
    return row && viewAt(fromRow(row).entry, now.getTime())
  }

  async list(filter: DeadLetterFilter | undefined, now: Date): Promise<Page<DeadLetter>> {
    const { limit, isNewestFirst, after } = parsePaging(filter, 'oldest', [0, 0])
    const selection: DeadLetterSelection = toQuery(filter ?? {})
    const items: DeadLetter[] = []
    let last: RowPosition | undefined = after && { created_at: after[0] as number, seq: after[1] as number }
    for (;;) {
      const want = Math.min(BATCH_SIZE, limit - items.length)
      // One more than wanted shows whether there is another page.
      const positions = selectPositions(this.table, selection, now.getTime(), {
        isNewestFirst,
        after: last,
        limit: want + 1,
      })
      if (positions === undefined) return { items }
      const direction = isNewestFirst ? 'DESC' : 'ASC'
      const rows = await this.database.read((sql) =>
        sql.all<PostgresDeadLetterRow>(
          `SELECT stored.* FROM (${positions.text}) AS positions JOIN ${this.table} AS stored USING (seq)
            ORDER BY stored.created_at ${direction}, stored.seq ${direction}`,
          ...positions.values,
        ),
      )
      for (const row of rows.slice(0, want)) items.push(viewAt(fromRow(row).entry, now.getTime()))
      if (rows.length <= want) return { items }
      last = rows[want - 1] as PostgresDeadLetterRow
      if (items.length >= limit)
        return { items, cursor: encodeCursor(isNewestFirst, [Number(last.created_at), Number(last.seq)]) }
    }
  }

  lease(id: string, owner: string, until: Date, now: Date): Promise<Leased> {
    return this.changes.change(id, (stored): EntryChange<Leased> => {
      if (stored === undefined) return { result: { result: 'missing' } }
      if (stored.entry.status === 'completed') return { result: { result: 'done', entry: stored.entry } }
      const leaseState = leaseStateOf(stored.entry)
      if (isLeased(leaseState, now.getTime()))
        return { result: { result: 'held', until: new Date(leaseState.leasedUntil) } }
      const entry = withLease(stored.entry, until)
      return { result: { result: 'leased', entry }, entry, owner }
    })
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
    selection: DeadLetterSelection,
    limit: number,
    owner: string,
    until: Date,
    now: Date,
  ) {
    const values = new StatementValues()
    const free = selectLeasable(this.table, selection, now.getTime(), limit, values)
    if (free === undefined) return []
    const token = randomUUID()
    const table = this.table
    const { rows } = await this.database.write<{ rows: PostgresDeadLetterRow[] }>(
      // COMMIT is sent together with the statement, because other transactions wait for the counts until then.
      (sql) =>
        sql.finishInto<PostgresDeadLetterRow, { rows: PostgresDeadLetterRow[] }>(
          { rows: [] },
          `WITH free AS MATERIALIZED (${free}), taken AS (
            UPDATE ${table} AS stored SET status = 'replaying', leased_until = ${until.getTime()},
                lease_owner = ${values.add(toColumn(owner))}, change = ${values.add(token)}
              FROM free WHERE stored.seq = free.seq RETURNING stored.*
          ), counted AS (
            ${countUpdate(
              this.database,
              `SELECT operation, operation_type, status, -1 AS n FROM free
                UNION ALL SELECT operation, operation_type, 'replaying', 1 FROM free`,
            )}
          ) SELECT * FROM taken ORDER BY created_at, seq`,
          ...values.list,
        ),
      {
        // The leased entries are read again, because the reply with them was lost.
        isCommitted: async (sql, taken) => {
          taken.rows = await sql.all<PostgresDeadLetterRow>(
            `SELECT * FROM ${table} WHERE status = 'replaying' AND change = $1 ORDER BY created_at, seq`,
            token,
          )
          return taken.rows.length > 0
        },
      },
    )
    const stored = rows.map(fromRow)
    this.changes.rememberLeases(stored)
    return stored.map(({ entry }) => entry)
  }

  renew(id: string, owner: string, until: Date, now: Date): Promise<boolean> {
    return this.changes.change(id, (stored): EntryChange<boolean> => {
      if (
        stored === undefined ||
        stored.owner !== owner ||
        !isLeased(leaseStateOf(stored.entry), now.getTime())
      )
        return { result: false }
      return { result: true, entry: withLease(stored.entry, until), owner }
    })
  }

  settle(id: string, owner: string, settlement: Settlement): Promise<DeadLetter | undefined> {
    return this.changes.endLease(id, (stored): EntryChange<DeadLetter | undefined> => {
      if (stored === undefined || stored.entry.status === 'completed') return { result: undefined }
      const isHeld = stored.owner === owner && isLeased(leaseStateOf(stored.entry), settlement.at.getTime())
      if (!isHeld && settlement.status !== 'completed') return { result: undefined }
      const entry = asSettled(stored.entry, settlement)
      return { result: entry, entry }
    })
  }

  complete(id: string, at: Date): Promise<DeadLetter | undefined> {
    return this.changes.change(id, (stored): EntryChange<DeadLetter | undefined> => {
      if (stored === undefined || stored.entry.status === 'completed') return { result: stored?.entry }
      const entry = asCompleted(stored.entry, at)
      return { result: entry, entry }
    })
  }

  request(id: string, at: Date): Promise<DeadLetter | undefined> {
    return this.changes.change(id, (stored): EntryChange<DeadLetter | undefined> => {
      if (stored === undefined || stored.entry.status === 'completed') return { result: stored?.entry }
      const entry = { ...stored.entry, replayRequestedAt: at }
      return { result: entry, entry, owner: stored.owner }
    })
  }

  async isProcessed(id: string): Promise<boolean> {
    return (await this.findProcessed([id])).size > 0
  }

  /** Selects the ids that were ever completed. */
  async findProcessed(ids: readonly string[], attempts?: number): Promise<ReadonlySet<string>> {
    const byHash = new Map(ids.map((id) => [hashName(id), id]))
    const rows = await this.database.read(
      (sql) =>
        sql.all<{ id: string }>(
          `SELECT replace(id::text, '-', '') AS id FROM ${this.database.table('processed_ids')}
            WHERE id = ANY($1::uuid[])`,
          [...byHash.keys()],
        ),
      { attempts },
    )
    return new Set(rows.map(({ id }) => byHash.get(id) as string))
  }

  async purge(filter: Parameters<DeadLetterStore['purge']>[0], now: Date): Promise<number> {
    const { limit = Number.POSITIVE_INFINITY, order } = filter
    const selection: DeadLetterSelection = { ...toQuery(filter), isUnleased: true }
    for (let purged = 0; ; ) {
      const size = Math.min(BATCH_SIZE, limit - purged)
      const positions = selectPositions(this.table, selection, now.getTime(), {
        isNewestFirst: order === 'newest',
        limit: size,
      })
      if (positions === undefined || size === 0) return purged
      const batch = await this.database.write((sql) =>
        sql.all(
          `WITH free AS MATERIALIZED (
            SELECT seq FROM ${this.table} WHERE seq IN (SELECT seq FROM (${positions.text}) AS positions)
              AND (status <> 'replaying' OR leased_until <= ${now.getTime()}) ORDER BY seq FOR UPDATE
          ), deleted AS (
            DELETE FROM ${this.table} AS stored USING free WHERE stored.seq = free.seq
              RETURNING operation, operation_type, status
          ), counted AS (
            ${countUpdate(this.database, 'SELECT operation, operation_type, status, -1 AS n FROM deleted')}
          ) SELECT 1 FROM deleted`,
          ...positions.values,
        ),
      )
      purged += batch.length
      if (batch.length < size) return purged
    }
  }

  stats(now: Date): Promise<DeadLetterStats> {
    return this.database.read((sql) => readStats(this.database, sql, now.getTime()))
  }

  async rewrite(id: string, payload: unknown): Promise<void> {
    const text = serializePayload(payload)
    await this.database.write((sql) =>
      sql.run(`UPDATE ${this.table} SET original_payload = $1 WHERE id = $2`, text, hashName(id)),
    )
  }
}

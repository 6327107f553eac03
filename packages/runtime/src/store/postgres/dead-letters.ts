import { randomUUID } from 'node:crypto'
import type { DeadLetter } from '../../records/dead-letter.js'
import { encodeCursor, readPaging } from '../cursor.js'
import { queryOf } from '../dead-letter-index.js'
import { completedAt, isHeld, leasedTo, seenAt, settledTo, standingOf } from '../dead-letter-rules.js'
import { payloadText } from '../payload.js'
import type {
  DeadLetterFilter,
  DeadLetterStats,
  DeadLetterStore,
  Leased,
  Page,
  Settlement,
} from '../store.js'
import { toColumn } from '../text.js'
import type { Database } from './database.js'
import { DeadLetterAdds, type Inserted } from './dead-letter-adds.js'
import { type Change, DeadLetterChanges } from './dead-letter-changes.js'
import { counting } from './dead-letter-counts.js'
import { freeOnes, type Place, placesOf, Values, type Wanted } from './dead-letter-queries.js'
import { type DeadLetterRow, heldOf } from './dead-letter-rows.js'
import { statsOf } from './dead-letter-stats.js'
import { hashed } from './names.js'
import { requestsChannel } from './wakeups.js'

/** How many entries are read, leased or deleted at a time. */
const SLICE = 200

/** Dead letters in a table. Every change is a transaction that is on the server's disk when its promise resolves. */
export class PostgresDeadLetters implements Omit<DeadLetterStore, 'add'> {
  private readonly database: Database
  private readonly table: string
  private readonly adds: DeadLetterAdds
  private readonly changes: DeadLetterChanges

  constructor(database: Database) {
    this.database = database
    this.table = database.table('dead_letters')
    this.adds = new DeadLetterAdds(database)
    this.changes = new DeadLetterChanges(database, async (sql) => {
      await sql.all('SELECT pg_notify($1, $2)', requestsChannel(database.address.schema), '')
    })
  }

  async idle(): Promise<void> {
    await Promise.all([this.adds.idle(), this.changes.idle()])
  }

  add(entries: readonly DeadLetter[], limits: { maxEntries: number }): Promise<Inserted[]> {
    return this.adds.add(entries, limits.maxEntries)
  }

  async get(id: string, now: Date): Promise<DeadLetter | undefined> {
    const [row] = await this.database.read((sql) =>
      sql.all<DeadLetterRow>(`SELECT * FROM ${this.table} WHERE id = $1`, hashed(id)),
    )
    return row && seenAt(heldOf(row).entry, now.getTime())
  }

  async list(filter: DeadLetterFilter | undefined, now: Date): Promise<Page<DeadLetter>> {
    const { limit, newest, after } = readPaging(filter, 'oldest', [0, 0])
    const wanted: Wanted = queryOf(filter ?? {})
    const items: DeadLetter[] = []
    let last: Place | undefined = after && { created_at: after[0] as number, seq: after[1] as number }
    for (;;) {
      const want = Math.min(SLICE, limit - items.length)
      // One more, to know whether there is more.
      const places = placesOf(this.table, wanted, now.getTime(), { newest, after: last, limit: want + 1 })
      if (places === undefined) return { items }
      const direction = newest ? 'DESC' : 'ASC'
      const rows = await this.database.read((sql) =>
        sql.all<DeadLetterRow>(
          `SELECT stored.* FROM (${places.text}) AS places JOIN ${this.table} AS stored USING (seq)
            ORDER BY stored.created_at ${direction}, stored.seq ${direction}`,
          ...places.values,
        ),
      )
      for (const row of rows.slice(0, want)) items.push(seenAt(heldOf(row).entry, now.getTime()))
      if (rows.length <= want) return { items }
      last = rows[want - 1] as DeadLetterRow
      if (items.length >= limit)
        return { items, cursor: encodeCursor(newest, [Number(last.created_at), Number(last.seq)]) }
    }
  }

  lease(id: string, owner: string, until: Date, now: Date): Promise<Leased> {
    return this.changes.change(id, (held): Change<Leased> => {
      if (held === undefined) return { result: { result: 'missing' } }
      if (held.entry.status === 'completed') return { result: { result: 'done', entry: held.entry } }
      const standing = standingOf(held.entry)
      if (isHeld(standing, now.getTime()))
        return { result: { result: 'held', until: new Date(standing.leasedUntil) } }
      const entry = leasedTo(held.entry, until)
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
      const most = Math.min(SLICE, want.limit - leased.length)
      const some = await this.leaseSome(want, most, owner, until, now)
      leased.push(...some)
      if (some.length < most) break
    }
    return leased
  }

  private async leaseSome(wanted: Wanted, most: number, owner: string, until: Date, now: Date) {
    const values = new Values()
    const free = freeOnes(this.table, wanted, now.getTime(), most, values)
    if (free === undefined) return []
    const token = randomUUID()
    const table = this.table
    const { rows } = await this.database.write<{ rows: DeadLetterRow[] }>(
      // Others wait for the counts until it is committed, so that is not left for another round trip.
      (sql) =>
        sql.finishInto<DeadLetterRow, { rows: DeadLetterRow[] }>(
          { rows: [] },
          `WITH free AS MATERIALIZED (${free}), taken AS (
            UPDATE ${table} AS stored SET status = 'replaying', leased_until = ${until.getTime()},
                lease_owner = ${values.add(toColumn(owner))}, change = ${values.add(token)}
              FROM free WHERE stored.seq = free.seq RETURNING stored.*
          ), counted AS (
            ${counting(
              this.database,
              `SELECT operation, operation_type, status, -1 AS n FROM free
                UNION ALL SELECT operation, operation_type, 'replaying', 1 FROM free`,
            )}
          ) SELECT * FROM taken ORDER BY created_at, seq`,
          ...values.list,
        ),
      {
        // Where the answer was lost, so were the entries that it told of.
        proof: async (sql, taken) => {
          taken.rows = await sql.all<DeadLetterRow>(
            `SELECT * FROM ${table} WHERE status = 'replaying' AND change = $1 ORDER BY created_at, seq`,
            token,
          )
          return taken.rows.length > 0
        },
      },
    )
    const held = rows.map(heldOf)
    this.changes.remember(held)
    return held.map(({ entry }) => entry)
  }

  renew(id: string, owner: string, until: Date, now: Date): Promise<boolean> {
    return this.changes.change(id, (held): Change<boolean> => {
      if (held === undefined || held.owner !== owner || !isHeld(standingOf(held.entry), now.getTime()))
        return { result: false }
      return { result: true, entry: leasedTo(held.entry, until), owner }
    })
  }

  settle(id: string, owner: string, settlement: Settlement): Promise<DeadLetter | undefined> {
    return this.changes.end(id, (held): Change<DeadLetter | undefined> => {
      if (held === undefined || held.entry.status === 'completed') return { result: undefined }
      const holds = held.owner === owner && isHeld(standingOf(held.entry), settlement.at.getTime())
      if (!holds && settlement.status !== 'completed') return { result: undefined }
      const entry = settledTo(held.entry, settlement)
      return { result: entry, entry }
    })
  }

  complete(id: string, at: Date): Promise<DeadLetter | undefined> {
    return this.changes.change(id, (held): Change<DeadLetter | undefined> => {
      if (held === undefined || held.entry.status === 'completed') return { result: held?.entry }
      const entry = completedAt(held.entry, at)
      return { result: entry, entry }
    })
  }

  request(id: string, at: Date): Promise<DeadLetter | undefined> {
    return this.changes.change(id, (held): Change<DeadLetter | undefined> => {
      if (held === undefined || held.entry.status === 'completed') return { result: held?.entry }
      const entry = { ...held.entry, replayRequestedAt: at }
      return { result: entry, entry, owner: held.owner }
    })
  }

  async isProcessed(id: string): Promise<boolean> {
    return (await this.processed([id])).size > 0
  }

  /** Those of the ids that were completed ever. */
  async processed(ids: readonly string[], attempts?: number): Promise<ReadonlySet<string>> {
    const byHash = new Map(ids.map((id) => [hashed(id), id]))
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
    const wanted: Wanted = { ...queryOf(filter), free: true }
    for (let gone = 0; ; ) {
      const most = Math.min(SLICE, limit - gone)
      const places = placesOf(this.table, wanted, now.getTime(), { newest: order === 'newest', limit: most })
      if (places === undefined || most === 0) return gone
      const some = await this.database.write((sql) =>
        sql.all(
          `WITH free AS MATERIALIZED (
            SELECT seq FROM ${this.table} WHERE seq IN (SELECT seq FROM (${places.text}) AS places)
              AND (status <> 'replaying' OR leased_until <= ${now.getTime()}) ORDER BY seq FOR UPDATE
          ), gone AS (
            DELETE FROM ${this.table} AS stored USING free WHERE stored.seq = free.seq
              RETURNING operation, operation_type, status
          ), counted AS (
            ${counting(this.database, 'SELECT operation, operation_type, status, -1 AS n FROM gone')}
          ) SELECT 1 FROM gone`,
          ...places.values,
        ),
      )
      gone += some.length
      if (some.length < most) return gone
    }
  }

  stats(now: Date): Promise<DeadLetterStats> {
    return this.database.read((sql) => statsOf(this.database, sql, now.getTime()))
  }

  async rewrite(id: string, payload: unknown): Promise<void> {
    const text = payloadText(payload)
    await this.database.write((sql) =>
      sql.run(`UPDATE ${this.table} SET original_payload = $1 WHERE id = $2`, text, hashed(id)),
    )
  }
}

import type { DeadLetter, DeadLetterStatus } from '../../records/dead-letter.js'
import { encodeCursor, readPaging } from '../cursor.js'
import { queryOf } from '../dead-letter-index.js'
import { completedAt, isHeld, leasedTo, seenAt, settledTo, standingOf } from '../dead-letter-rules.js'
import { payloadText } from '../payload.js'
import type {
  Added,
  DeadLetterFilter,
  DeadLetterStats,
  DeadLetterStore,
  Leased,
  Page,
  Settlement,
} from '../store.js'
import { fromColumn, toColumn } from '../text.js'
import { type Commits, turn } from './commits.js'
import { DeadLetterAdds } from './dead-letter-adds.js'
import { type Place, select, type Wanted } from './dead-letter-queries.js'
import { count, findId, type Held, readAll, replace } from './dead-letter-rows.js'
import { statsOf } from './dead-letter-stats.js'

/** How many entries are read, leased or deleted before others have their turn. */
const SLICE = 100

/** Dead letters in a table. Every change is a transaction that is on the disk when its promise resolves. */
export class SqliteDeadLetters implements DeadLetterStore {
  private readonly commits: Commits
  private readonly adds: DeadLetterAdds

  constructor(commits: Commits) {
    this.commits = commits
    this.adds = new DeadLetterAdds(commits)
  }

  add(entries: readonly DeadLetter[], limits: { maxEntries: number }): Promise<Added[]> {
    return this.adds.add(entries, limits.maxEntries)
  }

  get(id: string, now: Date): Promise<DeadLetter | undefined> {
    return this.commits.read(() => {
      const held = this.find(id)
      return held && seenAt(held.entry, now.getTime())
    })
  }

  private find(id: string): Held | undefined {
    return findId(this.commits.sql, id)
  }

  async list(filter: DeadLetterFilter | undefined, now: Date): Promise<Page<DeadLetter>> {
    const { limit, newest, after } = readPaging(filter, 'oldest', [0, 0])
    const wanted: Wanted = queryOf(filter ?? {})
    const items: DeadLetter[] = []
    let last: Place | undefined = after && { created_at: Number(after[0]), seq: Number(after[1]) }
    for (;;) {
      const from: Place | undefined = last
      const want = Math.min(SLICE, limit - items.length)
      const { places, entries } = await this.commits.read(() => {
        const { sql } = this.commits
        // One more, to know whether there is more.
        const found = select(sql, wanted, now.getTime(), { newest, after: from, limit: want + 1 })
        return { places: found, entries: readAll(sql, found.slice(0, want)) }
      })
      for (const { entry } of entries) items.push(seenAt(entry, now.getTime()))
      if (places.length <= want) return { items }
      last = places[want - 1] as Place
      if (items.length >= limit) return { items, cursor: encodeCursor(newest, [last.created_at, last.seq]) }
      await turn()
    }
  }

  lease(id: string, owner: string, until: Date, now: Date): Promise<Leased> {
    return this.commits.write((): Leased => {
      const held = this.find(id)
      if (held === undefined) return { result: 'missing' }
      const { entry } = held
      if (entry.status === 'completed') return { result: 'done', entry }
      const standing = standingOf(entry)
      if (isHeld(standing, now.getTime())) return { result: 'held', until: new Date(standing.leasedUntil) }
      return { result: 'leased', entry: replace(this.commits.sql, held, leasedTo(entry, until), owner) }
    })
  }

  async leaseNext(
    want: Parameters<DeadLetterStore['leaseNext']>[0],
    owner: string,
    until: Date,
    now: Date,
  ): Promise<DeadLetter[]> {
    const leased: DeadLetter[] = []
    let last: Place | undefined
    while (leased.length < want.limit) {
      const from: Place | undefined = last
      const most = Math.min(SLICE, want.limit - leased.length)
      const size = Math.min(SLICE, most + (want.except?.size ?? 0))
      const part = await this.commits.write(() => {
        const { sql } = this.commits
        const page = { newest: false, after: from, limit: size }
        const places = select(sql, { ...want, free: true }, now.getTime(), page)
        const taken: DeadLetter[] = []
        let end = from
        for (const [i, held] of readAll(sql, places).entries()) {
          if (taken.length === most) break
          end = places[i]
          if (want.except?.has(held.entry.dlqId) !== true)
            taken.push(replace(sql, held, leasedTo(held.entry, until), owner))
        }
        return { taken, end, over: places.length < size }
      })
      leased.push(...part.taken)
      if (part.over) break
      last = part.end
    }
    return leased
  }

  renew(id: string, owner: string, until: Date, now: Date): Promise<boolean> {
    return this.commits.write(() => {
      const held = this.find(id)
      if (held === undefined || held.owner !== owner || !isHeld(standingOf(held.entry), now.getTime()))
        return false
      replace(this.commits.sql, held, leasedTo(held.entry, until), owner)
      return true
    })
  }

  settle(id: string, owner: string, settlement: Settlement): Promise<DeadLetter | undefined> {
    return this.commits.write(() => {
      const held = this.find(id)
      if (held === undefined || held.entry.status === 'completed') return undefined
      const holds = held.owner === owner && isHeld(standingOf(held.entry), settlement.at.getTime())
      if (!holds && settlement.status !== 'completed') return undefined
      return replace(this.commits.sql, held, settledTo(held.entry, settlement), null)
    })
  }

  complete(id: string, at: Date): Promise<DeadLetter | undefined> {
    return this.changed(id, (entry) => completedAt(entry, at), null)
  }

  request(id: string, at: Date): Promise<DeadLetter | undefined> {
    return this.changed(id, (entry) => ({ ...entry, replayRequestedAt: at }))
  }

  /** Changes an entry unless it is completed. Its owner stays where nothing else is said. */
  private changed(id: string, change: (entry: DeadLetter) => DeadLetter, owner?: null) {
    return this.commits.write(() => {
      const held = this.find(id)
      if (held === undefined || held.entry.status === 'completed') return held?.entry
      return replace(this.commits.sql, held, change(held.entry), owner === undefined ? held.owner : owner)
    })
  }

  isProcessed(id: string): Promise<boolean> {
    return this.commits.read(
      () => this.commits.sql.get('SELECT 1 FROM processed_ids WHERE dlq_id = ?', toColumn(id)) !== undefined,
    )
  }

  async purge(filter: Parameters<DeadLetterStore['purge']>[0], now: Date): Promise<number> {
    const { ids, limit = Number.POSITIVE_INFINITY, order } = filter
    const wanted: Wanted = { ...queryOf(filter), ids, free: true }
    let gone = 0
    for (let last: Place | undefined; ; ) {
      const from: Place | undefined = last
      const room = limit - gone
      const { places, removed } = await this.commits.write(() => {
        const page = { newest: order === 'newest', after: from, limit: SLICE }
        const found = select(this.commits.sql, wanted, now.getTime(), page)
        return { places: found, removed: this.remove(found.slice(0, room)) }
      })
      gone += removed
      last = places.at(-1)
      if (places.length < SLICE || gone >= limit) return gone
    }
  }

  private remove(places: readonly Place[]): number {
    const { sql } = this.commits
    for (const { seq } of places) {
      const row = sql.get<{ operation: string; status: DeadLetterStatus }>(
        'SELECT operation_type AS operation, status FROM dead_letters WHERE seq = ?',
        seq,
      ) as { operation: string; status: DeadLetterStatus }
      sql.run('DELETE FROM dead_letters WHERE seq = ?', seq)
      count(sql, fromColumn(row.operation), row.status, -1)
    }
    return places.length
  }

  stats(now: Date): Promise<DeadLetterStats> {
    return this.commits.read(() => statsOf(this.commits.sql, now.getTime()))
  }

  async rewrite(id: string, payload: unknown): Promise<void> {
    const text = payloadText(payload)
    await this.commits.write(() =>
      this.commits.sql.run(
        'UPDATE dead_letters SET original_payload = ? WHERE dlq_id = ?',
        text,
        toColumn(id),
      ),
    )
  }
}

import type { DeadLetter } from '@holdfast/records'
import { encodeCursor, parsePaging } from '../cursor.js'
import { DeadLetterIndex, type IndexEntry, toIndexEntry, toQuery } from '../dead-letter-index.js'
import { asCompleted, asSettled, isLeased, viewAt, withLease } from '../dead-letter-rules.js'
import { isSamePayload } from '../payload.js'
import type { SortPosition } from '../sorted-list.js'
import type { Added, DeadLetterStore, Leased, Settlement } from '../store.js'

interface StoredEntry extends IndexEntry {
  readonly entry: DeadLetter
}

/** Dead letters of one process. They end with it. */
export class MemoryDeadLetters implements DeadLetterStore {
  private readonly index = new DeadLetterIndex<StoredEntry>()
  private readonly processed = new Set<string>()
  private addedCount = 0

  async add(entries: readonly DeadLetter[], limits: { maxEntries: number }): Promise<Added[]> {
    return entries.map((entry) => this.addOne(entry, limits.maxEntries))
  }

  private addOne(entry: DeadLetter, maxEntries: number): Added {
    const same = this.index.getByKey(entry.idempotencyKey) ?? this.index.get(entry.dlqId)
    if (same !== undefined)
      return {
        result: isSamePayload(same.entry.originalPayload, entry.originalPayload) ? 'known' : 'conflict',
        entry: same.entry,
      }
    if (this.index.openCount >= maxEntries) return { result: 'full' }
    this.put(entry, this.addedCount++)
    return { result: 'added', entry }
  }

  private put(entry: DeadLetter, order: number, owner?: string): DeadLetter {
    this.index.put({ ...toIndexEntry(entry, order, owner), entry })
    if (entry.status === 'completed') this.processed.add(entry.dlqId)
    return entry
  }

  async get(id: string, now: Date) {
    const slot = this.index.get(id)
    return slot && viewAt(slot.entry, now.getTime())
  }

  async list(filter: Parameters<DeadLetterStore['list']>[0], now: Date) {
    const { limit, isNewestFirst, after } = parsePaging(filter, 'oldest', [0, 0])
    const items: DeadLetter[] = []
    let last: StoredEntry | undefined
    for (const slot of this.index.select(
      toQuery(filter ?? {}),
      now.getTime(),
      isNewestFirst,
      after as SortPosition,
    )) {
      if (items.length === limit && last !== undefined)
        return { items, cursor: encodeCursor(isNewestFirst, [last.at, last.order]) }
      items.push(viewAt(slot.entry, now.getTime()))
      last = slot
    }
    return { items }
  }

  async lease(id: string, owner: string, until: Date, now: Date): Promise<Leased> {
    const slot = this.index.get(id)
    if (slot === undefined) return { result: 'missing' }
    if (slot.status === 'completed') return { result: 'done', entry: slot.entry }
    if (isLeased(slot, now.getTime())) return { result: 'held', until: new Date(slot.leasedUntil) }
    return { result: 'leased', entry: this.put(withLease(slot.entry, until), slot.order, owner) }
  }

  async leaseNext(want: Parameters<DeadLetterStore['leaseNext']>[0], owner: string, until: Date, now: Date) {
    const found: StoredEntry[] = []
    for (const slot of this.index.select(want, now.getTime(), false)) {
      if (found.length >= want.limit) break
      if (!want.except?.has(slot.id)) found.push(slot)
    }
    return found.map((slot) => this.put(withLease(slot.entry, until), slot.order, owner))
  }

  async renew(id: string, owner: string, until: Date, now: Date): Promise<boolean> {
    const slot = this.index.get(id)
    if (slot === undefined || slot.owner !== owner || !isLeased(slot, now.getTime())) return false
    this.put(withLease(slot.entry, until), slot.order, owner)
    return true
  }

  async settle(id: string, owner: string, settlement: Settlement) {
    const slot = this.index.get(id)
    if (slot === undefined || slot.status === 'completed') return undefined
    const holds = slot.owner === owner && isLeased(slot, settlement.at.getTime())
    if (!holds && settlement.status !== 'completed') return undefined
    return this.put(asSettled(slot.entry, settlement), slot.order)
  }

  async complete(id: string, at: Date) {
    const slot = this.index.get(id)
    if (slot === undefined || slot.status === 'completed') return slot?.entry
    return this.put(asCompleted(slot.entry, at), slot.order)
  }

  async request(id: string, at: Date) {
    const slot = this.index.get(id)
    if (slot === undefined || slot.status === 'completed') return slot?.entry
    return this.put({ ...slot.entry, replayRequestedAt: at }, slot.order, slot.owner)
  }

  async isProcessed(id: string): Promise<boolean> {
    return this.processed.has(id)
  }

  async purge(filter: Parameters<DeadLetterStore['purge']>[0], now: Date): Promise<number> {
    const limit = filter.limit ?? Number.POSITIVE_INFINITY
    const gone: string[] = []
    for (const slot of this.index.select(toQuery(filter), now.getTime(), false)) {
      if (gone.length >= limit) break
      if (!isLeased(slot, now.getTime())) gone.push(slot.id)
    }
    for (const id of gone) this.index.delete(id)
    return gone.length
  }

  async stats(now: Date) {
    return this.index.stats(now.getTime())
  }

  async rewrite(id: string, payload: unknown): Promise<void> {
    const slot = this.index.get(id)
    if (slot !== undefined) this.put({ ...slot.entry, originalPayload: payload }, slot.order, slot.owner)
  }
}

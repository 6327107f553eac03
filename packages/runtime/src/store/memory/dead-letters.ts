import type { DeadLetter } from '../../records/dead-letter.js'
import { encodeCursor, readPaging } from '../cursor.js'
import { DeadLetterIndex, queryOf, type Slot, slotOf } from '../dead-letter-index.js'
import { completedAt, isHeld, leasedTo, seenAt, settledTo } from '../dead-letter-rules.js'
import type { Place } from '../ordered.js'
import { samePayload } from '../payload.js'
import type { Added, DeadLetterStore, Leased, Settlement } from '../store.js'

interface Kept extends Slot {
  readonly entry: DeadLetter
}

/** Dead letters of one process. They end with it. */
export class MemoryDeadLetters implements DeadLetterStore {
  private readonly index = new DeadLetterIndex<Kept>()
  private readonly processed = new Set<string>()
  private added = 0

  async add(entries: readonly DeadLetter[], limits: { maxEntries: number }): Promise<Added[]> {
    return entries.map((entry) => this.addOne(entry, limits.maxEntries))
  }

  private addOne(entry: DeadLetter, maxEntries: number): Added {
    const same = this.index.keyed(entry.idempotencyKey) ?? this.index.get(entry.dlqId)
    if (same !== undefined)
      return {
        result: samePayload(same.entry.originalPayload, entry.originalPayload) ? 'known' : 'conflict',
        entry: same.entry,
      }
    if (this.index.open >= maxEntries) return { result: 'full' }
    this.put(entry, this.added++)
    return { result: 'added', entry }
  }

  private put(entry: DeadLetter, order: number, owner?: string): DeadLetter {
    this.index.put({ ...slotOf(entry, order, owner), entry })
    if (entry.status === 'completed') this.processed.add(entry.dlqId)
    return entry
  }

  async get(id: string, now: Date) {
    const slot = this.index.get(id)
    return slot && seenAt(slot.entry, now.getTime())
  }

  async list(filter: Parameters<DeadLetterStore['list']>[0], now: Date) {
    const { limit, newest, after } = readPaging(filter, 'oldest', [0, 0])
    const items: DeadLetter[] = []
    let last: Kept | undefined
    for (const slot of this.index.select(queryOf(filter ?? {}), now.getTime(), newest, after as Place)) {
      if (items.length === limit && last !== undefined)
        return { items, cursor: encodeCursor(newest, [last.at, last.order]) }
      items.push(seenAt(slot.entry, now.getTime()))
      last = slot
    }
    return { items }
  }

  async lease(id: string, owner: string, until: Date, now: Date): Promise<Leased> {
    const slot = this.index.get(id)
    if (slot === undefined) return { result: 'missing' }
    if (slot.status === 'completed') return { result: 'done', entry: slot.entry }
    if (isHeld(slot, now.getTime())) return { result: 'held', until: new Date(slot.leasedUntil) }
    return { result: 'leased', entry: this.put(leasedTo(slot.entry, until), slot.order, owner) }
  }

  async leaseNext(want: Parameters<DeadLetterStore['leaseNext']>[0], owner: string, until: Date, now: Date) {
    const found: Kept[] = []
    for (const slot of this.index.select(want, now.getTime(), false)) {
      if (found.length >= want.limit) break
      if (!want.except?.has(slot.id)) found.push(slot)
    }
    return found.map((slot) => this.put(leasedTo(slot.entry, until), slot.order, owner))
  }

  async renew(id: string, owner: string, until: Date, now: Date): Promise<boolean> {
    const slot = this.index.get(id)
    if (slot === undefined || slot.owner !== owner || !isHeld(slot, now.getTime())) return false
    this.put(leasedTo(slot.entry, until), slot.order, owner)
    return true
  }

  async settle(id: string, owner: string, settlement: Settlement) {
    const slot = this.index.get(id)
    if (slot === undefined || slot.status === 'completed') return undefined
    const holds = slot.owner === owner && isHeld(slot, settlement.at.getTime())
    if (!holds && settlement.status !== 'completed') return undefined
    return this.put(settledTo(slot.entry, settlement), slot.order)
  }

  async complete(id: string, at: Date) {
    const slot = this.index.get(id)
    if (slot === undefined || slot.status === 'completed') return slot?.entry
    return this.put(completedAt(slot.entry, at), slot.order)
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
    for (const slot of this.index.select(queryOf(filter), now.getTime(), false)) {
      if (gone.length >= limit) break
      if (!isHeld(slot, now.getTime())) gone.push(slot.id)
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

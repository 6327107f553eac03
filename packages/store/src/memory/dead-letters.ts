import type { DeadLetter } from '@holdfast/records'
import { encodeCursor, parsePaging } from '../cursor.js'
import { createEntryChanges, type DecideChange, toDuplicate } from '../dead-letter-decisions.js'
import { DeadLetterIndex, type IndexEntry, toIndexEntry, toQuery } from '../dead-letter-index.js'
import { completedAt, dayOf, viewAt, withLease } from '../dead-letter-rules.js'
import type { Added, DeadLetterSelector, DeadLetterStore } from '../dead-letter-store.js'
import { purgeInBatches } from '../purge.js'
import type { SortPosition } from '../sorted-list.js'

interface StoredEntry extends IndexEntry {
  readonly entry: DeadLetter
}

/** Dead letters in memory. They are lost when the process ends. */
export class MemoryDeadLetters implements DeadLetterStore {
  private readonly index = new DeadLetterIndex<StoredEntry>()
  /** The day on which each id was completed. */
  private readonly processed = new Map<string, number>()
  private addedCount = 0
  private readonly entryChanges = createEntryChanges((id, decide) => this.change(id, decide))
  readonly lease = this.entryChanges.lease
  readonly renew = this.entryChanges.renew
  readonly settle = this.entryChanges.settle
  readonly complete = this.entryChanges.complete
  readonly request = this.entryChanges.request
  readonly edit = this.entryChanges.edit
  readonly rewrite = this.entryChanges.rewrite

  private readonly nextTurn: () => Promise<void>

  /** `nextTurn` gives timers and sockets a turn. */
  constructor(nextTurn: () => Promise<void>) {
    this.nextTurn = nextTurn
  }

  async add(entries: readonly DeadLetter[], limits: { maxEntries: number }): Promise<Added[]> {
    return entries.map((entry) => this.addOne(entry, limits.maxEntries))
  }

  private addOne(entry: DeadLetter, maxEntries: number): Added {
    const same = this.index.getByKey(entry.idempotencyKey) ?? this.index.get(entry.dlqId)
    if (same !== undefined) return toDuplicate(same.entry, entry)
    if (this.index.openCount >= maxEntries) return { result: 'full' }
    this.put(entry, this.addedCount++)
    return { result: 'added', entry }
  }

  private put(entry: DeadLetter, order: number, owner?: string): DeadLetter {
    this.index.put({ ...toIndexEntry(entry, order, owner), entry })
    if (entry.status === 'completed' && !this.processed.has(entry.dlqId))
      this.processed.set(entry.dlqId, dayOf(completedAt(entry)))
    return entry
  }

  async get(id: string, now: Date) {
    const indexed = this.index.get(id)
    return indexed && viewAt(indexed.entry, now.getTime())
  }

  async list(filter: Parameters<DeadLetterStore['list']>[0], now: Date) {
    const { limit, isNewestFirst, after } = parsePaging(filter, 'oldest', [0, 0])
    const items: DeadLetter[] = []
    let last: StoredEntry | undefined
    for (const indexed of this.index.select(
      toQuery(filter ?? {}),
      now.getTime(),
      isNewestFirst,
      after as SortPosition,
    )) {
      if (items.length === limit && last !== undefined)
        return { items, cursor: encodeCursor(isNewestFirst, [last.at, last.order]) }
      items.push(viewAt(indexed.entry, now.getTime()))
      last = indexed
    }
    return { items }
  }

  async count(selector: DeadLetterSelector, now: Date) {
    return this.index.count(toQuery(selector), now.getTime())
  }

  private async change<R>(id: string, decide: DecideChange<R>): Promise<R> {
    const indexed = this.index.get(id)
    const { result, entry, owner } = decide(indexed)
    if (indexed !== undefined && entry !== undefined) this.put(entry, indexed.order, owner ?? undefined)
    return result
  }

  async leaseNext(want: Parameters<DeadLetterStore['leaseNext']>[0], owner: string, until: Date, now: Date) {
    const found: StoredEntry[] = []
    for (const indexed of this.index.select(want, now.getTime(), false)) {
      if (found.length >= want.limit) break
      if (!want.except?.has(indexed.id)) found.push(indexed)
    }
    return found.map((indexed) => this.put(withLease(indexed.entry, until), indexed.order, owner))
  }

  async isProcessed(id: string): Promise<boolean> {
    return this.processed.has(id)
  }

  async deleteProcessedIds(before: Date): Promise<number> {
    const countBefore = this.processed.size
    for (const [id, day] of this.processed)
      if (day < dayOf(before) && this.index.get(id) === undefined) this.processed.delete(id)
    return countBefore - this.processed.size
  }

  async purge(filter: Parameters<DeadLetterStore['purge']>[0], now: Date): Promise<number> {
    let isFirst = true
    return purgeInBatches<StoredEntry>(filter, now, async (find) => {
      if (!isFirst) await this.nextTurn()
      isFirst = false
      for (const { id } of find(this.index)) this.index.delete(id)
    })
  }

  async stats(now: Date) {
    return this.index.stats(now.getTime())
  }
}

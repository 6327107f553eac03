import type { DeadLetter } from '@holdfast/records'
import { encodeCursor, parsePaging } from '../../../../store/src/cursor.js'
import {
  createEntryChanges,
  type DecideChange,
  toDuplicate,
} from '../../../../store/src/dead-letter-decisions.js'
import {
  DeadLetterIndex,
  type IndexEntry,
  toIndexEntry,
  toQuery,
} from '../../../../store/src/dead-letter-index.js'
import { completedAt, dayOf, isLeased, viewAt, withLease } from '../../../../store/src/dead-letter-rules.js'
import type { Added, DeadLetterStore } from '../../../../store/src/dead-letter-store.js'
import type { SortPosition } from '../../../../store/src/sorted-list.js'

interface StoredRow extends IndexEntry {
  readonly entry: DeadLetter
}

/** The result of a promise. */
type Synchronous<T> = {
  [K in keyof T]: T[K] extends (...args: infer A) => Promise<infer R> ? (...args: A) => R : T[K]
}

/** The methods of a queue that the table has, without promises. */
type DeadLetterTableMethods = Synchronous<Omit<DeadLetterStore, 'leaseBatch' | 'compareWith' | 'onRequest'>>

type EntryChanges = Synchronous<ReturnType<typeof createEntryChanges>>

/**
 * The table of dead letters. It uses the decisions of the store package, as every backend does, so a wrong decision also shows in a
 * simulation.
 */
export class DeadLetterTable implements DeadLetterTableMethods {
  private readonly index = new DeadLetterIndex<StoredRow>()
  /** The day on which each id was completed. */
  private readonly processed = new Map<string, number>()
  private addedCount = 0
  // The decisions do not wait for anything. Their results are those of `change`, which here is not a promise.
  private readonly entryChanges = createEntryChanges(((id: string, decide: DecideChange<unknown>) =>
    this.change(id, decide)) as never) as unknown as EntryChanges
  readonly lease = this.entryChanges.lease
  readonly renew = this.entryChanges.renew
  readonly settle = this.entryChanges.settle
  readonly complete = this.entryChanges.complete
  readonly request = this.entryChanges.request
  readonly edit = this.entryChanges.edit
  readonly rewrite = this.entryChanges.rewrite

  add(entries: readonly DeadLetter[], { maxEntries }: { maxEntries: number }): Added[] {
    return entries.map((entry): Added => {
      const same = this.index.getByKey(entry.idempotencyKey) ?? this.index.get(entry.dlqId)
      if (same !== undefined) return toDuplicate(same.entry, entry)
      if (this.index.openCount >= maxEntries) return { result: 'full' }
      this.put(entry, this.addedCount++)
      return { result: 'added', entry }
    })
  }

  get(id: string, now: Date): DeadLetter | undefined {
    const row = this.index.get(id)
    return row && viewAt(row.entry, now.getTime())
  }

  list(filter: Parameters<DeadLetterStore['list']>[0], now: Date) {
    const { limit, isNewestFirst, after } = parsePaging(filter, 'oldest', [0, 0])
    const rows = this.index.select(toQuery(filter ?? {}), now.getTime(), isNewestFirst, after as SortPosition)
    const items: DeadLetter[] = []
    let last: StoredRow | undefined
    for (const row of rows) {
      if (items.length === limit && last !== undefined)
        return { items, cursor: encodeCursor(isNewestFirst, [last.at, last.order]) }
      items.push(viewAt(row.entry, now.getTime()))
      last = row
    }
    return { items }
  }

  count(selector: Parameters<DeadLetterStore['count']>[0], now: Date) {
    return this.index.count(toQuery(selector), now.getTime())
  }

  leaseNext(want: Parameters<DeadLetterStore['leaseNext']>[0], owner: string, until: Date, now: Date) {
    const found: StoredRow[] = []
    for (const row of this.index.select(want, now.getTime(), false)) {
      if (found.length >= want.limit) break
      if (!want.except?.has(row.id)) found.push(row)
    }
    return found.map((row) => this.put(withLease(row.entry, until), row.order, owner))
  }

  isProcessed(id: string): boolean {
    return this.processed.has(id)
  }

  deleteProcessedIds(before: Date): number {
    const countBefore = this.processed.size
    for (const [id, day] of this.processed)
      if (day < dayOf(before) && this.index.get(id) === undefined) this.processed.delete(id)
    return countBefore - this.processed.size
  }

  purge(filter: Parameters<DeadLetterStore['purge']>[0], now: Date): number {
    const { limit = Number.POSITIVE_INFINITY, order } = filter
    const purged: string[] = []
    for (const row of this.index.select(toQuery(filter), now.getTime(), order === 'newest')) {
      if (purged.length >= limit) break
      if (!isLeased(row, now.getTime())) purged.push(row.id)
    }
    for (const id of purged) this.index.delete(id)
    return purged.length
  }

  stats(now: Date) {
    return this.index.stats(now.getTime())
  }

  /** The holders of leases, for the check of invariants. */
  *leases(now: number): Generator<{ id: string; owner: string; until: number }> {
    for (const row of this.index.select({ statuses: ['replaying'] }, now, false))
      yield { id: row.id, owner: row.owner ?? '', until: row.leasedUntil }
  }

  private put(entry: DeadLetter, order: number, owner?: string): DeadLetter {
    this.index.put({ ...toIndexEntry(entry, order, owner), entry })
    if (entry.status === 'completed' && !this.processed.has(entry.dlqId))
      this.processed.set(entry.dlqId, dayOf(completedAt(entry)))
    return entry
  }

  private change<R>(id: string, decide: DecideChange<R>): R {
    const row = this.index.get(id)
    const { result, entry, owner } = decide(row)
    if (row !== undefined && entry !== undefined) this.put(entry, row.order, owner ?? undefined)
    return result
  }
}

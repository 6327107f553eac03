import { DEAD_LETTER_STATUSES, type DeadLetter, type DeadLetterStatus } from '@holdfast/records'
import { effectiveStatus, isLeased, type LeaseState } from './dead-letter-rules.js'
import { zeroCounts } from './dead-letter-stats.js'
import type { DeadLetterFilter, DeadLetterStats } from './dead-letter-store.js'
import { EntriesByItem } from './entries-by-item.js'
import { SortedList, type SortKey, type SortPosition } from './sorted-list.js'

/** The fields of an entry by which it is found without being read. `order` is the order of insertion. */
export interface IndexEntry extends SortKey, LeaseState {
  readonly id: string
  readonly operation: string
  readonly itemId: string
  readonly key: string
  readonly isRequested: boolean
  /** The owner of its lease. */
  readonly owner: string | undefined
}

/** The indexed fields of an entry. */
export function toIndexEntry(entry: DeadLetter, order: number, owner: string | undefined): IndexEntry {
  return {
    id: entry.dlqId,
    operation: entry.operationType,
    itemId: entry.itemId,
    key: entry.idempotencyKey,
    status: entry.status,
    leasedUntil: entry.leasedUntil?.getTime() ?? 0,
    isRequested: entry.replayRequestedAt != null,
    owner,
    at: entry.createdAt.getTime(),
    order,
  }
}

/** Selects the entries that match all given fields. */
export interface DeadLetterQuery {
  operations?: readonly string[] | undefined
  statuses?: readonly DeadLetterStatus[] | undefined
  itemId?: string | undefined
  from?: Date | undefined
  to?: Date | undefined
  /** Only entries with a replay request. */
  requested?: boolean | undefined
  /** Only entries with these ids. */
  ids?: readonly string[] | undefined
}

/** Converts a filter of the store interface. */
export function toQuery(filter: DeadLetterFilter & { ids?: readonly string[] | undefined }): DeadLetterQuery {
  const { operation, status, itemId, from, to, ids } = filter
  return {
    operations: operation === undefined ? undefined : [operation],
    statuses: typeof status === 'string' ? [status] : status,
    itemId,
    from,
    to,
    ids,
  }
}

type StatusLists<S extends IndexEntry> = Record<DeadLetterStatus, SortedList<S>>

const createStatusLists = <S extends IndexEntry>(): StatusLists<S> => ({
  pending: new SortedList<S>(),
  replaying: new SortedList<S>(),
  completed: new SortedList<S>(),
  failed: new SortedList<S>(),
})

/** Finds entries by id, by idempotency key, and in order of age by item, operation and status. It has no clock and no disk. */
export class DeadLetterIndex<S extends IndexEntry> {
  /** The highest order that an entry has had. */
  lastOrder = Number.NEGATIVE_INFINITY
  private readonly byId = new Map<string, S>()
  private readonly byKey = new Map<string, S>()
  private readonly allEntries = createStatusLists<S>()
  private readonly requestedEntries = new SortedList<S>()
  private readonly byOperation = new Map<string, StatusLists<S>>()
  private readonly byItem = new EntriesByItem<S>()

  get(id: string): S | undefined {
    return this.byId.get(id)
  }

  getByKey(key: string): S | undefined {
    return this.byKey.get(key)
  }

  ids(): IterableIterator<string> {
    return this.byId.keys()
  }

  /** How many entries are not completed. */
  get openCount(): number {
    return this.byId.size - this.allEntries.completed.size
  }

  /** Adds an entry, or replaces the one with the same id. */
  put(indexed: S): void {
    this.delete(indexed.id)
    this.lastOrder = Math.max(this.lastOrder, indexed.order)
    this.byId.set(indexed.id, indexed)
    this.byKey.set(indexed.key, indexed)
    this.allEntries[indexed.status].add(indexed)
    if (indexed.isRequested) this.requestedEntries.add(indexed)
    let lists = this.byOperation.get(indexed.operation)
    if (lists === undefined) this.byOperation.set(indexed.operation, (lists = createStatusLists()))
    lists[indexed.status].add(indexed)
    this.byItem.add(indexed)
  }

  delete(id: string): void {
    const indexed = this.byId.get(id)
    if (indexed === undefined) return
    this.byId.delete(id)
    if (this.byKey.get(indexed.key)?.id === id) this.byKey.delete(indexed.key)
    this.allEntries[indexed.status].delete(indexed)
    if (indexed.isRequested) this.requestedEntries.delete(indexed)
    const lists = this.byOperation.get(indexed.operation) as StatusLists<S>
    lists[indexed.status].delete(indexed)
    if (DEAD_LETTER_STATUSES.every((status) => lists[status].size === 0))
      this.byOperation.delete(indexed.operation)
    this.byItem.delete(indexed)
  }

  /** Yields matching entries in order of age, after a position if one is given. The index must not change meanwhile. */
  *select(query: DeadLetterQuery, now: number, isNewestFirst: boolean, after?: SortPosition): Generator<S> {
    const wanted = new Set(query.statuses ?? DEAD_LETTER_STATUSES)
    const from = query.from?.getTime() ?? Number.NEGATIVE_INFINITY
    const to = query.to?.getTime() ?? Number.POSITIVE_INFINITY
    const start = startPosition(isNewestFirst, from, to, after)
    const operations = query.operations === undefined ? undefined : new Set(query.operations)
    for (const indexed of this.walkEntries(query, operations, wanted, isNewestFirst, start)) {
      if (indexed.at < from || indexed.at >= to) {
        if (isNewestFirst ? indexed.at < from : indexed.at >= to) return
        continue
      }
      if (!wanted.has(effectiveStatus(indexed, now))) continue
      if (query.itemId !== undefined && indexed.itemId !== query.itemId) continue
      if (operations !== undefined && !operations.has(indexed.operation)) continue
      if (query.requested === true && !indexed.isRequested) continue
      yield indexed
    }
  }

  private walkEntries(
    query: DeadLetterQuery,
    operations: ReadonlySet<string> | undefined,
    wanted: ReadonlySet<DeadLetterStatus>,
    isNewestFirst: boolean,
    start: SortPosition,
  ): Generator<S, undefined> {
    if (query.ids !== undefined) return this.entriesById(query.ids, isNewestFirst)
    const walks = this.findLists(query, operations, wanted)
      .filter(({ size }) => size > 0)
      .map((list) => (isNewestFirst ? list.before(...start) : list.from(...start)))
    return walks.length === 1 ? (walks[0] as Generator<S, undefined>) : mergeWalks(walks, isNewestFirst)
  }

  /** Lists that together have every matching entry, and others: those of the item, or those of the operations and statuses. */
  private findLists(
    { requested, itemId }: DeadLetterQuery,
    operations: ReadonlySet<string> | undefined,
    wanted: ReadonlySet<DeadLetterStatus>,
  ): readonly SortedList<S>[] {
    const statusLists =
      operations === undefined
        ? [this.allEntries]
        : [...operations].flatMap((operation) => this.byOperation.get(operation) ?? [])
    // Entries with an expired lease are pending, so a query for pending entries includes the list of replaying ones.
    const statuses = DEAD_LETTER_STATUSES.filter(
      (status) => wanted.has(status) || (status === 'replaying' && wanted.has('pending')),
    )
    const lists = requested
      ? [this.requestedEntries]
      : statusLists.flatMap((lists) => statuses.map((status) => lists[status]))
    if (itemId === undefined) return lists
    const ofItem = this.byItem.find(itemId)
    return ofItem.size < lists.reduce((sum, { size }) => sum + size, 0) ? [ofItem] : lists
  }

  private *entriesById(ids: readonly string[], isNewestFirst: boolean): Generator<S, undefined> {
    const matches = [...new Set(ids)].flatMap((id) => this.byId.get(id) ?? [])
    const sorted = matches.sort((a, b) => a.at - b.at || a.order - b.order)
    yield* isNewestFirst ? sorted.reverse() : sorted
    return undefined
  }

  /** The number of matching entries with each status. */
  count(query: DeadLetterQuery, now: number): Record<DeadLetterStatus, number> {
    const counts = zeroCounts()
    for (const indexed of this.select(query, now, false)) counts[effectiveStatus(indexed, now)]++
    return counts
  }

  stats(now: number): DeadLetterStats {
    const byOperation = [...this.byOperation].map(
      ([operation, lists]) => [operation, countByStatus(lists, now)] as const,
    )
    const oldest = Math.min(
      ...DEAD_LETTER_STATUSES.filter((status) => status !== 'completed').map(
        (status) => this.allEntries[status].first()?.at ?? Number.POSITIVE_INFINITY,
      ),
    )
    return {
      total: this.byId.size,
      byStatus: countByStatus(this.allEntries, now),
      byOperation: Object.fromEntries(byOperation),
      ...(oldest === Number.POSITIVE_INFINITY ? {} : { oldest: new Date(oldest) }),
    }
  }
}

/** Where a walk begins: at the end of the previous page or at the limit of the range, whichever comes later in the walk. */
function startPosition(
  isNewestFirst: boolean,
  from: number,
  to: number,
  after: SortPosition | undefined,
): SortPosition {
  if (isNewestFirst) return after !== undefined && after[0] < to ? after : [to, Number.NEGATIVE_INFINITY]
  // Orders are integers, so half a step is after this entry and before the next one.
  if (after !== undefined && after[0] >= from) return [after[0], after[1] + 0.5]
  return [from, Number.NEGATIVE_INFINITY]
}

function countByStatus(lists: StatusLists<IndexEntry>, now: number): Record<DeadLetterStatus, number> {
  let replaying = 0
  for (const indexed of lists.replaying.from(Number.NEGATIVE_INFINITY, 0))
    if (isLeased(indexed, now)) replaying++
  return {
    pending: lists.pending.size + lists.replaying.size - replaying,
    replaying,
    completed: lists.completed.size,
    failed: lists.failed.size,
  }
}

/** Merges several sorted walks. */
function* mergeWalks<S extends SortKey>(
  walks: readonly Generator<S, undefined>[],
  isNewestFirst: boolean,
): Generator<S, undefined> {
  const heads = walks.map((walk) => walk.next().value)
  for (;;) {
    let best = -1
    for (let i = 0; i < heads.length; i++) {
      const head = heads[i]
      const leader = heads[best]
      if (head === undefined) continue
      if (leader === undefined) best = i
      else {
        const difference = head.at - leader.at || head.order - leader.order
        if (isNewestFirst ? difference > 0 : difference < 0) best = i
      }
    }
    const item = heads[best]
    if (item === undefined) return undefined
    heads[best] = walks[best]?.next().value
    yield item
  }
}

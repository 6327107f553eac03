import type { DeadLetter, DeadLetterStatus } from '@holdfast/records'
import { effectiveStatus, isLeased, type LeaseState } from './dead-letter-rules.js'
import { SortedList, type SortKey, type SortPosition } from './sorted-list.js'
import type { DeadLetterFilter, DeadLetterStats } from './store.js'

/** What is known of an entry without reading it. `order` is that of adding. */
export interface IndexEntry extends SortKey, LeaseState {
  readonly id: string
  readonly operation: string
  readonly itemId: string
  readonly key: string
  readonly isRequested: boolean
  /** Who holds its lease. */
  readonly owner: string | undefined
}

/** What a slot says of an entry. */
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

/** Which entries: those that fit all that is given. */
export interface DeadLetterQuery {
  operations?: readonly string[] | undefined
  statuses?: readonly DeadLetterStatus[] | undefined
  itemId?: string | undefined
  from?: Date | undefined
  to?: Date | undefined
  /** Only those that somebody asked to be replayed. */
  requested?: boolean | undefined
  /** Only these. */
  ids?: readonly string[] | undefined
}

/** A filter of the store's interface as a query. */
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

const ALL_STATUSES: readonly DeadLetterStatus[] = ['pending', 'replaying', 'completed', 'failed']

/** Entries by id, by idempotency key, and in order of age by operation and status. It has no clock and no disk. */
export class DeadLetterIndex<S extends IndexEntry> {
  private readonly byId = new Map<string, S>()
  private readonly byKey = new Map<string, S>()
  private readonly allEntries = createStatusLists<S>()
  private readonly requestedEntries = new SortedList<S>()
  private readonly byOperation = new Map<string, StatusLists<S>>()

  get(id: string): S | undefined {
    return this.byId.get(id)
  }

  getByKey(key: string): S | undefined {
    return this.byKey.get(key)
  }

  ids(): IterableIterator<string> {
    return this.byId.keys()
  }

  /** How many are not completed. */
  get openCount(): number {
    return this.byId.size - this.allEntries.completed.size
  }

  /** Puts a slot in the place of one with the same id, if there is one. */
  put(slot: S): void {
    this.delete(slot.id)
    this.byId.set(slot.id, slot)
    this.byKey.set(slot.key, slot)
    this.allEntries[slot.status].add(slot)
    if (slot.isRequested) this.requestedEntries.add(slot)
    let own = this.byOperation.get(slot.operation)
    if (own === undefined) this.byOperation.set(slot.operation, (own = createStatusLists()))
    own[slot.status].add(slot)
  }

  delete(id: string): void {
    const slot = this.byId.get(id)
    if (slot === undefined) return
    this.byId.delete(id)
    if (this.byKey.get(slot.key)?.id === id) this.byKey.delete(slot.key)
    this.allEntries[slot.status].delete(slot)
    if (slot.isRequested) this.requestedEntries.delete(slot)
    const own = this.byOperation.get(slot.operation) as StatusLists<S>
    own[slot.status].delete(slot)
    if (ALL_STATUSES.every((status) => own[status].size === 0)) this.byOperation.delete(slot.operation)
  }

  /** Those that fit, in order of age, beginning after a place where one is given. Nothing may change meanwhile. */
  *select(query: DeadLetterQuery, now: number, newest: boolean, after?: SortPosition): Generator<S> {
    const wanted = new Set(query.statuses ?? ALL_STATUSES)
    const from = query.from?.getTime() ?? Number.NEGATIVE_INFINITY
    const to = query.to?.getTime() ?? Number.POSITIVE_INFINITY
    const place = startPosition(newest, from, to, after)
    const operations = query.operations === undefined ? undefined : new Set(query.operations)
    for (const slot of this.walkEntries(query, operations, wanted, newest, place)) {
      if (slot.at < from || slot.at >= to) {
        if (newest ? slot.at < from : slot.at >= to) return
        continue
      }
      if (!wanted.has(effectiveStatus(slot, now))) continue
      if (query.itemId !== undefined && slot.itemId !== query.itemId) continue
      if (operations !== undefined && !operations.has(slot.operation)) continue
      yield slot
    }
  }

  private walkEntries(
    { requested, ids }: DeadLetterQuery,
    operations: ReadonlySet<string> | undefined,
    wanted: ReadonlySet<DeadLetterStatus>,
    newest: boolean,
    place: SortPosition,
  ): Generator<S, undefined> {
    if (ids !== undefined) return this.entriesById(ids)
    const statusLists =
      operations === undefined
        ? [this.allEntries]
        : [...operations].flatMap((operation) => this.byOperation.get(operation) ?? [])
    // A lease may have ended, so whoever asks for pending ones must look at those being replayed too.
    const statuses = ALL_STATUSES.filter(
      (status) => wanted.has(status) || (status === 'replaying' && wanted.has('pending')),
    )
    const lists = requested
      ? [this.requestedEntries]
      : statusLists.flatMap((lists) => statuses.map((status) => lists[status]))
    const walks = lists
      .filter(({ size }) => size > 0)
      .map((list) => (newest ? list.before(...place) : list.from(...place)))
    return walks.length === 1 ? (walks[0] as Generator<S, undefined>) : mergeWalks(walks, newest)
  }

  private *entriesById(ids: readonly string[]): Generator<S, undefined> {
    const slots = [...new Set(ids)].flatMap((id) => this.byId.get(id) ?? [])
    yield* slots.sort((a, b) => a.at - b.at || a.order - b.order)
    return undefined
  }

  stats(now: number): DeadLetterStats {
    const byOperation = [...this.byOperation].map(
      ([operation, held]) => [operation, countByStatus(held, now)] as const,
    )
    const oldest = Math.min(
      ...ALL_STATUSES.filter((status) => status !== 'completed').map(
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

/** Where a walk begins: where the page before ended, or at the edge of the range, whichever comes later in the walk. */
function startPosition(
  newest: boolean,
  from: number,
  to: number,
  after: SortPosition | undefined,
): SortPosition {
  if (newest) return after !== undefined && after[0] < to ? after : [to, Number.NEGATIVE_INFINITY]
  // Orders are whole numbers: half a step lies behind the one and before the next.
  if (after !== undefined && after[0] >= from) return [after[0], after[1] + 0.5]
  return [from, Number.NEGATIVE_INFINITY]
}

function countByStatus(lists: StatusLists<IndexEntry>, now: number): Record<DeadLetterStatus, number> {
  let replaying = 0
  for (const slot of lists.replaying.from(Number.NEGATIVE_INFINITY, 0)) if (isLeased(slot, now)) replaying++
  return {
    pending: lists.pending.size + lists.replaying.size - replaying,
    replaying,
    completed: lists.completed.size,
    failed: lists.failed.size,
  }
}

/** Several walks as one. */
function* mergeWalks<S extends SortKey>(
  walks: readonly Generator<S, undefined>[],
  newest: boolean,
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
        const earlier = head.at - leader.at || head.order - leader.order
        if (newest ? earlier > 0 : earlier < 0) best = i
      }
    }
    const item = heads[best]
    if (item === undefined) return undefined
    heads[best] = walks[best]?.next().value
    yield item
  }
}

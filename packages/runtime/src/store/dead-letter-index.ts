import type { DeadLetter, DeadLetterStatus } from '../records/dead-letter.js'
import { isHeld, type Standing, statusAt } from './dead-letter-rules.js'
import { Ordered, type Place, type Placed } from './ordered.js'
import type { DeadLetterFilter, DeadLetterStats } from './store.js'

/** What is known of an entry without reading it. `order` is that of adding. */
export interface Slot extends Placed, Standing {
  readonly id: string
  readonly operation: string
  readonly itemId: string
  readonly key: string
  readonly requested: boolean
  /** Who holds its lease. */
  readonly owner: string | undefined
}

/** What a slot says of an entry. */
export function slotOf(entry: DeadLetter, order: number, owner: string | undefined): Slot {
  return {
    id: entry.dlqId,
    operation: entry.operationType,
    itemId: entry.itemId,
    key: entry.idempotencyKey,
    status: entry.status,
    leasedUntil: entry.leasedUntil?.getTime() ?? 0,
    requested: entry.replayRequestedAt != null,
    owner,
    at: entry.createdAt.getTime(),
    order,
  }
}

/** Which entries: those that fit all that is given. */
export interface Query {
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
export function queryOf(filter: DeadLetterFilter & { ids?: readonly string[] | undefined }): Query {
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

type Shelf<S extends Slot> = Record<DeadLetterStatus, Ordered<S>>

const shelf = <S extends Slot>(): Shelf<S> => ({
  pending: new Ordered<S>(),
  replaying: new Ordered<S>(),
  completed: new Ordered<S>(),
  failed: new Ordered<S>(),
})

const ALL: readonly DeadLetterStatus[] = ['pending', 'replaying', 'completed', 'failed']

/** Entries by id, by idempotency key, and in order of age by operation and status. It has no clock and no disk. */
export class DeadLetterIndex<S extends Slot> {
  private readonly byId = new Map<string, S>()
  private readonly byKey = new Map<string, S>()
  private readonly everything = shelf<S>()
  private readonly requested = new Ordered<S>()
  private readonly byOperation = new Map<string, Shelf<S>>()

  get(id: string): S | undefined {
    return this.byId.get(id)
  }

  keyed(key: string): S | undefined {
    return this.byKey.get(key)
  }

  ids(): IterableIterator<string> {
    return this.byId.keys()
  }

  /** How many are not completed. */
  get open(): number {
    return this.byId.size - this.everything.completed.size
  }

  /** Puts a slot in the place of one with the same id, if there is one. */
  put(slot: S): void {
    this.delete(slot.id)
    this.byId.set(slot.id, slot)
    this.byKey.set(slot.key, slot)
    this.everything[slot.status].add(slot)
    if (slot.requested) this.requested.add(slot)
    let own = this.byOperation.get(slot.operation)
    if (own === undefined) this.byOperation.set(slot.operation, (own = shelf()))
    own[slot.status].add(slot)
  }

  delete(id: string): void {
    const slot = this.byId.get(id)
    if (slot === undefined) return
    this.byId.delete(id)
    if (this.byKey.get(slot.key)?.id === id) this.byKey.delete(slot.key)
    this.everything[slot.status].delete(slot)
    if (slot.requested) this.requested.delete(slot)
    const own = this.byOperation.get(slot.operation) as Shelf<S>
    own[slot.status].delete(slot)
    if (ALL.every((status) => own[status].size === 0)) this.byOperation.delete(slot.operation)
  }

  /** Those that fit, in order of age, beginning after a place where one is given. Nothing may change meanwhile. */
  *select(query: Query, now: number, newest: boolean, after?: Place): Generator<S> {
    const wanted = new Set(query.statuses ?? ALL)
    const from = query.from?.getTime() ?? Number.NEGATIVE_INFINITY
    const to = query.to?.getTime() ?? Number.POSITIVE_INFINITY
    const place = start(newest, from, to, after)
    const operations = query.operations === undefined ? undefined : new Set(query.operations)
    for (const slot of this.walk(query, operations, wanted, newest, place)) {
      if (slot.at < from || slot.at >= to) {
        if (newest ? slot.at < from : slot.at >= to) return
        continue
      }
      if (!wanted.has(statusAt(slot, now))) continue
      if (query.itemId !== undefined && slot.itemId !== query.itemId) continue
      if (operations !== undefined && !operations.has(slot.operation)) continue
      yield slot
    }
  }

  private walk(
    { requested, ids }: Query,
    operations: ReadonlySet<string> | undefined,
    wanted: ReadonlySet<DeadLetterStatus>,
    newest: boolean,
    place: Place,
  ): Generator<S, undefined> {
    if (ids !== undefined) return this.among(ids)
    const shelves =
      operations === undefined
        ? [this.everything]
        : [...operations].flatMap((operation) => this.byOperation.get(operation) ?? [])
    // A lease may have ended, so whoever asks for pending ones must look at those being replayed too.
    const looked = ALL.filter(
      (status) => wanted.has(status) || (status === 'replaying' && wanted.has('pending')),
    )
    const lists = requested
      ? [this.requested]
      : shelves.flatMap((held) => looked.map((status) => held[status]))
    const walks = lists
      .filter(({ size }) => size > 0)
      .map((list) => (newest ? list.before(...place) : list.from(...place)))
    return walks.length === 1 ? (walks[0] as Generator<S, undefined>) : merged(walks, newest)
  }

  private *among(ids: readonly string[]): Generator<S, undefined> {
    const slots = [...new Set(ids)].flatMap((id) => this.byId.get(id) ?? [])
    yield* slots.sort((a, b) => a.at - b.at || a.order - b.order)
    return undefined
  }

  stats(now: number): DeadLetterStats {
    const byOperation = [...this.byOperation].map(
      ([operation, held]) => [operation, counted(held, now)] as const,
    )
    const oldest = Math.min(
      ...ALL.filter((status) => status !== 'completed').map(
        (status) => this.everything[status].first()?.at ?? Number.POSITIVE_INFINITY,
      ),
    )
    return {
      total: this.byId.size,
      byStatus: counted(this.everything, now),
      byOperation: Object.fromEntries(byOperation),
      ...(oldest === Number.POSITIVE_INFINITY ? {} : { oldest: new Date(oldest) }),
    }
  }
}

/** Where a walk begins: where the page before ended, or at the edge of the range, whichever comes later in the walk. */
function start(newest: boolean, from: number, to: number, after: Place | undefined): Place {
  if (newest) return after !== undefined && after[0] < to ? after : [to, Number.NEGATIVE_INFINITY]
  // Orders are whole numbers: half a step lies behind the one and before the next.
  if (after !== undefined && after[0] >= from) return [after[0], after[1] + 0.5]
  return [from, Number.NEGATIVE_INFINITY]
}

function counted(held: Shelf<Slot>, now: number): Record<DeadLetterStatus, number> {
  let replaying = 0
  for (const slot of held.replaying.from(Number.NEGATIVE_INFINITY, 0)) if (isHeld(slot, now)) replaying++
  return {
    pending: held.pending.size + held.replaying.size - replaying,
    replaying,
    completed: held.completed.size,
    failed: held.failed.size,
  }
}

/** Several walks as one. */
function* merged<S extends Placed>(
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

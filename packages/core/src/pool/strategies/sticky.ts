import type { Random } from '../../clock.js'
import { hashString } from '../indexes/hash.js'
import { HashRing } from '../indexes/hash-ring.js'
import { RandomStrategy } from './random.js'
import { contextValue } from './strategy.js'

/** How many sessions are cached with the slot that the ring gave for them; a power of two. */
const CACHE_SIZE = 4096

/** A smaller ring fits into the caches of the processor, so that a search is fast. */
const MIN_CACHED_CAPACITY = 4096

const NO_SLOTS: readonly number[] = []

/** A cache row: the hash of the session, the version of the ring, the slot, and one unused number for alignment. */
const ROW_SIZE = 4
const VERSION_OFFSET = 1
const SLOT_OFFSET = 2

/**
 * Chooses the same member for the same session, by consistent hashing. While a member is unavailable, its sessions use the
 * next members on the ring, and return afterwards. A call without a session uses a random member.
 */
export class StickyStrategy extends RandomStrategy {
  private readonly ring = new HashRing()
  /** Grows with each change of the ring. A cached slot is valid only for the version it was found in. */
  private ringVersion = 1
  /** Created when the ring becomes large. */
  private cache: Int32Array | undefined = undefined
  private readonly idOf: (slot: number) => string

  constructor(random: Random, idOf: (slot: number) => string) {
    super(random)
    this.idOf = idOf
  }

  override markAvailable(slot: number): void {
    super.markAvailable(slot)
    this.ringVersion++
    this.ring.insert(slot, hashString(this.idOf(slot)))
  }

  override markUnavailable(slot: number): void {
    super.markUnavailable(slot)
    this.ringVersion++
    this.ring.delete(slot, hashString(this.idOf(slot)))
  }

  override chooseSlot(tried: readonly number[], context: unknown, now: number): number {
    const session = contextValue(context, 'session')
    if (session === undefined) return super.chooseSlot(tried, context, now)
    const hash = hashString(session)
    const { cache } = this
    return cache === undefined || tried.length > 0
      ? this.ring.find(hash, tried)
      : this.findCached(hash, cache)
  }

  /**
   * The slot of a session that has not tried any member. With many members most of a search is waiting for memory, and most
   * sessions come again before the ring changes.
   */
  private findCached(hash: number, cache: Int32Array): number {
    const row = ROW_SIZE * (hash & (CACHE_SIZE - 1))
    const version = this.ringVersion | 0
    if (cache[row] === (hash | 0) && cache[row + VERSION_OFFSET] === version)
      return cache[row + SLOT_OFFSET] as number
    const slot = this.ring.find(hash, NO_SLOTS)
    cache[row] = hash
    cache[row + VERSION_OFFSET] = version
    cache[row + SLOT_OFFSET] = slot
    return slot
  }

  override grow(capacity: number): void {
    super.grow(capacity)
    this.ring.grow(capacity)
    if (capacity >= MIN_CACHED_CAPACITY) this.cache ??= new Int32Array(ROW_SIZE * CACHE_SIZE)
  }
}

import type { Random } from '../../clock.js'
import { hashString } from '../indexes/hash.js'
import { HashRing } from '../indexes/hash-ring.js'
import { RandomStrategy } from './random.js'
import { contextValue } from './strategy.js'

/**
 * Chooses the same member for the same session, by consistent hashing. While a member is unavailable, its sessions use the
 * next members on the ring, and return afterwards. A call without a session uses a random member.
 */
export class StickyStrategy extends RandomStrategy {
  private readonly ring = new HashRing()
  private readonly idOf: (slot: number) => string

  constructor(random: Random, idOf: (slot: number) => string) {
    super(random)
    this.idOf = idOf
  }

  override markAvailable(slot: number): void {
    super.markAvailable(slot)
    this.ring.insert(slot, hashString(this.idOf(slot)))
  }

  override markUnavailable(slot: number): void {
    super.markUnavailable(slot)
    this.ring.delete(slot, hashString(this.idOf(slot)))
  }

  override chooseSlot(tried: readonly number[], context: unknown, now: number): number {
    const session = contextValue(context, 'session')
    return session === undefined
      ? super.chooseSlot(tried, context, now)
      : this.ring.find(hashString(session), tried)
  }

  override grow(capacity: number): void {
    super.grow(capacity)
    this.ring.grow(capacity)
  }
}

import type { Random } from '../../clock.js'
import { hashOf } from '../indexes/hash.js'
import { Ring } from '../indexes/ring.js'
import { ByChance } from './random.js'
import { wordOf } from './strategy.js'

/**
 * The same member for the same session, by consistent hashing. While a member is out its sessions go to the next ones on
 * the ring, and afterwards they come back. A call without a session goes anywhere.
 */
export class Sticky extends ByChance {
  private readonly ring = new Ring()
  private readonly idOf: (slot: number) => string

  constructor(random: Random, idOf: (slot: number) => string) {
    super(random)
    this.idOf = idOf
  }

  override insert(slot: number): void {
    super.insert(slot)
    this.ring.insert(slot, hashOf(this.idOf(slot)))
  }

  override delete(slot: number): void {
    super.delete(slot)
    this.ring.delete(slot, hashOf(this.idOf(slot)))
  }

  override choose(tried: readonly number[], context: unknown, now: number): number {
    const session = wordOf(context, 'session')
    return session === undefined ? super.choose(tried, context, now) : this.ring.find(hashOf(session), tried)
  }

  override grow(capacity: number): void {
    super.grow(capacity)
    this.ring.grow(capacity)
  }
}

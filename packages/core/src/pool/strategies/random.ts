import type { Random } from '../../clock.js'
import { DenseSet } from '../indexes/dense-set.js'
import type { SelectionStrategy } from './strategy.js'

/** Chooses at random, every member with the same probability. */
export class RandomStrategy implements SelectionStrategy {
  protected readonly available = new DenseSet()
  protected readonly random: Random

  constructor(random: Random) {
    this.random = random
  }

  markAvailable(slot: number): void {
    this.available.insert(slot)
  }

  markUnavailable(slot: number): void {
    this.available.delete(slot)
  }

  chooseSlot(tried: readonly number[], _context: unknown, _now: number): number {
    return this.available.pick(this.random, tried)
  }

  grow(capacity: number): void {
    this.available.grow(capacity)
  }
}

import type { Random } from '../../clock.js'
import { Dense } from '../indexes/dense.js'
import type { Strategy } from './strategy.js'

/** Any, each as likely as another. */
export class ByChance implements Strategy {
  protected readonly dense = new Dense()
  protected readonly random: Random

  constructor(random: Random) {
    this.random = random
  }

  insert(slot: number): void {
    this.dense.insert(slot)
  }

  delete(slot: number): void {
    this.dense.delete(slot)
  }

  choose(tried: readonly number[], _context: unknown, _now: number): number {
    return this.dense.draw(this.random, tried)
  }

  grow(capacity: number): void {
    this.dense.grow(capacity)
  }
}

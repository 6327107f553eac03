import type { Random } from '../../clock.js'
import type { Averages } from '../results/averages.js'
import { ByChance } from './random.js'

/** Of two drawn by chance the one with the lower decaying average of its latencies. */
export class LeastLatency extends ByChance {
  private readonly averages: Averages

  constructor(random: Random, averages: Averages) {
    super(random)
    this.averages = averages
  }

  override choose(tried: readonly number[], _context: unknown, now: number): number {
    const { dense, random, averages } = this
    const first = dense.draw(random, tried)
    if (first < 0) return first
    const second = tried.length === 0 ? dense.drawOther(random, first) : dense.draw(random, [...tried, first])
    return second < 0 || averages.at(first, now) <= averages.at(second, now) ? first : second
  }
}

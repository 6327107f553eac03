import type { Random } from '../../clock.js'
import type { LatencyAverages } from '../scores/latency-averages.js'
import { RandomStrategy } from './random.js'

/** Draws two members at random and chooses the one with the lower decaying average latency. */
export class LeastLatencyStrategy extends RandomStrategy {
  private readonly latencyAverages: LatencyAverages

  constructor(random: Random, latencyAverages: LatencyAverages) {
    super(random)
    this.latencyAverages = latencyAverages
  }

  override chooseSlot(tried: readonly number[], _context: unknown, now: number): number {
    const { available, random, latencyAverages } = this
    const first = available.pick(random, tried)
    if (first < 0) return first
    const second =
      tried.length === 0 ? available.pickOther(random, first) : available.pick(random, [...tried, first])
    return second < 0 || latencyAverages.decayedMean(first, now) <= latencyAverages.decayedMean(second, now)
      ? first
      : second
  }
}

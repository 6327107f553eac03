import type { Random } from '../../clock.js'
import type { MemberCounters } from '../members/member-counters.js'
import type { ScoreWindow } from '../scores/score-window.js'
import { RandomStrategy } from './random.js'

/** Up to so many the best of all is chosen, above it the best of a few that are drawn. */
const MAX_EXACT_MEMBERS = 64
const SAMPLE_SIZE = 8

/** The one with the best score; among equals the one with the fewest calls started, then the first. */
export class ScoreStrategy extends RandomStrategy {
  private readonly sample = new Int32Array(SAMPLE_SIZE)
  private readonly counters: MemberCounters
  private readonly scores: ScoreWindow

  constructor(random: Random, ledger: MemberCounters, results: ScoreWindow) {
    super(random)
    this.counters = ledger
    this.scores = results
  }

  override chooseSlot(tried: readonly number[], _context: unknown, _now: number): number {
    return this.available.size > MAX_EXACT_MEMBERS ? this.bestOfSample(tried) : this.bestOfAll(tried)
  }

  private bestOfAll(tried: readonly number[]): number {
    const { available, scores, counters } = this
    const { maxLatency } = scores
    let best = -1
    let bestScore = -1
    for (let i = 0; i < available.size; i++) {
      const slot = available.slots[i] as number
      if (tried.includes(slot)) continue
      const score = scores.score(slot, maxLatency)
      const more =
        score === bestScore ? counters.selections(slot) - counters.selections(best) || slot - best : 1
      if (score > bestScore || more < 0) {
        best = slot
        bestScore = score
      }
    }
    return best
  }

  /** Here chance decides between equals. */
  private bestOfSample(tried: readonly number[]): number {
    const { available, scores, sample, random } = this
    const { maxLatency } = scores
    // All are drawn before any is looked at, so that the looks into memory do not wait for each other.
    available.pickMany(random, tried, sample)
    let best = sample[0] as number
    let bestScore = best < 0 ? 1 : scores.score(best, maxLatency)
    for (let i = 1; i < SAMPLE_SIZE; i++) {
      const score = scores.score(sample[i] as number, maxLatency)
      if (score <= bestScore) continue
      best = sample[i] as number
      bestScore = score
    }
    return best
  }
}

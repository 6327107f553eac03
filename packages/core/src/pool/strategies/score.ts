import type { Random } from '../../clock.js'
import type { MemberCounters } from '../members/member-counters.js'
import type { ScoreWindow } from '../scores/score-window.js'
import { RandomStrategy } from './random.js'

/** Up to this number of members the best of all is chosen; above it, the best of a random sample. */
const MAX_EXACT_MEMBERS = 64
const SAMPLE_SIZE = 8

/** Chooses the member with the best score; among equals the one that was selected least often, then the lowest slot. */
export class ScoreStrategy extends RandomStrategy {
  private readonly sample = new Int32Array(SAMPLE_SIZE)
  private readonly counters: MemberCounters
  private readonly scores: ScoreWindow

  constructor(random: Random, counters: MemberCounters, scores: ScoreWindow) {
    super(random)
    this.counters = counters
    this.scores = scores
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
      const tieBreak =
        score === bestScore ? counters.selections(slot) - counters.selections(best) || slot - best : 1
      if (score > bestScore || tieBreak < 0) {
        best = slot
        bestScore = score
      }
    }
    return best
  }

  /** Among equal scores the order of the random sample decides. */
  private bestOfSample(tried: readonly number[]): number {
    const { available, scores, sample, random } = this
    const { maxLatency } = scores
    // The whole sample is drawn before any score is read, so that the memory accesses can overlap.
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

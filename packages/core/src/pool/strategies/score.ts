import type { Random } from '../../clock.js'
import type { Ledger } from '../ledger.js'
import type { Results } from '../results/results.js'
import { ByChance } from './random.js'

/** Up to so many the best of all is chosen, above it the best of a few that are drawn. */
const EXACT = 64
const DRAWN = 8

/** The one with the best score; among equals the one with the fewest calls started, then the first. */
export class BestScore extends ByChance {
  private readonly drawn = new Int32Array(DRAWN)
  private readonly ledger: Ledger
  private readonly results: Results

  constructor(random: Random, ledger: Ledger, results: Results) {
    super(random)
    this.ledger = ledger
    this.results = results
  }

  override choose(tried: readonly number[], _context: unknown, _now: number): number {
    return this.dense.size > EXACT ? this.bestDrawn(tried) : this.bestOfAll(tried)
  }

  private bestOfAll(tried: readonly number[]): number {
    const { dense, results, ledger } = this
    const { most } = results
    let best = -1
    let bestScore = -1
    for (let i = 0; i < dense.size; i++) {
      const slot = dense.slots[i] as number
      if (tried.includes(slot)) continue
      const score = results.score(slot, most)
      const more = score === bestScore ? ledger.turns(slot) - ledger.turns(best) || slot - best : 1
      if (score > bestScore || more < 0) {
        best = slot
        bestScore = score
      }
    }
    return best
  }

  /** Here chance decides between equals. */
  private bestDrawn(tried: readonly number[]): number {
    const { dense, results, drawn, random } = this
    const { most } = results
    // All are drawn before any is looked at, so that the looks into memory do not wait for each other.
    dense.drawAll(random, tried, drawn)
    let best = drawn[0] as number
    let bestScore = best < 0 ? 1 : results.score(best, most)
    for (let i = 1; i < DRAWN; i++) {
      const score = results.score(drawn[i] as number, most)
      if (score <= bestScore) continue
      best = drawn[i] as number
      bestScore = score
    }
    return best
  }
}

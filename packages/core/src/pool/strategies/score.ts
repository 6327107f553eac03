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
    const { dense, drawn, random } = this
    if (dense.size <= EXACT) return this.best(dense.slots, dense.size, tried)
    // All are drawn before any is looked at, so that the looks do not wait for each other.
    for (let i = 0; i < DRAWN; i++) drawn[i] = dense.draw(random, tried)
    return this.best(drawn, DRAWN, tried)
  }

  private best(slots: Int32Array, count: number, tried: readonly number[]): number {
    const { results } = this
    const { slowest } = results
    let best = -1
    let bestScore = -1
    for (let i = 0; i < count; i++) {
      const slot = slots[i] as number
      if (slot < 0 || (tried.length > 0 && tried.includes(slot))) continue
      const score = results.score(slot, slowest)
      if (score > bestScore || (score === bestScore && this.isBefore(slot, best))) {
        best = slot
        bestScore = score
      }
    }
    return best
  }

  /** Whether, of two slots with the same score, the first is to be chosen. */
  private isBefore(slot: number, other: number): boolean {
    const more = this.ledger.turns(slot) - this.ledger.turns(other)
    return more < 0 || (more === 0 && slot < other)
  }
}

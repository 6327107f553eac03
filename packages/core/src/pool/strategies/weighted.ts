import type { Random } from '../../clock.js'
import { Sums } from '../indexes/sums.js'
import type { Roster } from '../roster.js'
import { ByChance } from './random.js'

/** By chance, each as often as its weight says. One of weight 0 is chosen only where no other is left. */
export class Weighted extends ByChance {
  private readonly sums = new Sums()
  private readonly roster: Roster

  constructor(random: Random, roster: Roster) {
    super(random)
    this.roster = roster
  }

  override insert(slot: number): void {
    super.insert(slot)
    this.sums.set(slot, this.roster.member(slot).weight ?? 1)
  }

  override delete(slot: number): void {
    super.delete(slot)
    this.sums.set(slot, 0)
  }

  override choose(tried: readonly number[], context: unknown, now: number): number {
    const { sums, random } = this
    const weights = tried.map((slot) => sums.get(slot))
    for (const slot of tried) sums.set(slot, 0)
    const found = sums.total > 0 ? sums.find(random() * sums.total) : super.choose(tried, context, now)
    tried.forEach((slot, i) => sums.set(slot, weights[i] as number))
    return found
  }

  override grow(capacity: number): void {
    super.grow(capacity)
    this.sums.grow(capacity)
  }
}

import type { Random } from '../../clock.js'
import { PrefixSumTree } from '../indexes/prefix-sum-tree.js'
import type { SlotTable } from '../members/slot-table.js'
import { RandomStrategy } from './random.js'

/** By chance, each as often as its weight says. One of weight 0 is chosen only where no other is left. */
export class WeightedStrategy extends RandomStrategy {
  private readonly weights = new PrefixSumTree()
  private readonly slotTable: SlotTable

  constructor(random: Random, roster: SlotTable) {
    super(random)
    this.slotTable = roster
  }

  override markAvailable(slot: number): void {
    super.markAvailable(slot)
    this.weights.set(slot, this.slotTable.member(slot).weight ?? 1)
  }

  override markUnavailable(slot: number): void {
    super.markUnavailable(slot)
    this.weights.set(slot, 0)
  }

  override chooseSlot(tried: readonly number[], context: unknown, now: number): number {
    const { weights: sums, random } = this
    const savedWeights = tried.map((slot) => sums.get(slot))
    for (const slot of tried) sums.set(slot, 0)
    const found = sums.total > 0 ? sums.find(random() * sums.total) : super.chooseSlot(tried, context, now)
    tried.forEach((slot, i) => sums.set(slot, savedWeights[i] as number))
    return found
  }

  override grow(capacity: number): void {
    super.grow(capacity)
    this.weights.grow(capacity)
  }
}

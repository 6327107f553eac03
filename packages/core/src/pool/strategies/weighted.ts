import type { Random } from '../../clock.js'
import { PrefixSumTree } from '../indexes/prefix-sum-tree.js'
import type { SlotTable } from '../members/slot-table.js'
import { RandomStrategy } from './random.js'

/** Chooses at random in proportion to the weights. A member of weight 0 is chosen only if no other is available. */
export class WeightedStrategy extends RandomStrategy {
  private readonly weights = new PrefixSumTree()
  private readonly slotTable: SlotTable

  constructor(random: Random, slotTable: SlotTable) {
    super(random)
    this.slotTable = slotTable
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
    const { weights, random } = this
    const savedWeights = tried.map((slot) => weights.get(slot))
    for (const slot of tried) weights.set(slot, 0)
    const slot =
      weights.total > 0 ? weights.find(random() * weights.total) : super.chooseSlot(tried, context, now)
    tried.forEach((triedSlot, i) => weights.set(triedSlot, savedWeights[i] as number))
    return slot
  }

  override grow(capacity: number): void {
    super.grow(capacity)
    this.weights.grow(capacity)
  }
}

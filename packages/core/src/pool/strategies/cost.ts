import { LeastUsedStrategy } from './least-used.js'

/** The cheapest; among equally cheap ones the one with the fewest calls started. */
export class CostStrategy extends LeastUsedStrategy {
  protected override rank(slot: number): number {
    return this.slotTable.member(slot).cost ?? 0
  }
}

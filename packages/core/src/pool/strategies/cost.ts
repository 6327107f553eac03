import { LeastUsedStrategy } from './least-used.js'

/** Chooses the cheapest member; among members of equal cost, the one that was selected least often. */
export class CostStrategy extends LeastUsedStrategy {
  protected override primaryKey(slot: number): number {
    return this.slotTable.member(slot).cost ?? 0
  }
}

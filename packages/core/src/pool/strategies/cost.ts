import { LeastUsed } from './least-used.js'

/** The cheapest; among equally cheap ones the one with the fewest calls started. */
export class Cheapest extends LeastUsed {
  protected override rank(slot: number): number {
    return this.roster.member(slot).cost ?? 0
  }
}

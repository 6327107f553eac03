import { Least } from '../indexes/least.js'
import type { Roster } from '../roster.js'
import type { Strategy } from './strategy.js'

/** The one with the fewest calls started; among equals the first. */
export class LeastUsed implements Strategy {
  protected readonly roster: Roster
  private readonly least: Least

  constructor(roster: Roster) {
    this.roster = roster
    this.least = new Least(roster.ledger)
  }

  insert(slot: number): void {
    this.least.set(slot, this.rank(slot))
  }

  delete(slot: number): void {
    this.least.set(slot, Infinity)
  }

  choose(tried: readonly number[]): number {
    return this.least.firstBut(tried)
  }

  turned(slot: number): void {
    this.least.update(slot)
  }

  grow(capacity: number): void {
    this.least.grow(capacity)
  }

  /** What goes before the number of calls. */
  protected rank(_slot: number): number {
    return 0
  }
}

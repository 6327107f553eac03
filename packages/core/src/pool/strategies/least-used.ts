import { TournamentTree } from '../indexes/tournament-tree.js'
import type { SlotTable } from '../members/slot-table.js'
import type { SelectionStrategy } from './strategy.js'

/** The one with the fewest calls started; among equals the first. */
export class LeastUsedStrategy implements SelectionStrategy {
  protected readonly slotTable: SlotTable
  private readonly tree: TournamentTree

  constructor(roster: SlotTable) {
    this.slotTable = roster
    this.tree = new TournamentTree(roster.counters)
  }

  markAvailable(slot: number): void {
    this.tree.set(slot, this.rank(slot))
  }

  markUnavailable(slot: number): void {
    this.tree.set(slot, Infinity)
  }

  chooseSlot(tried: readonly number[]): number {
    return this.tree.firstExcept(tried)
  }

  onSelected(slot: number): void {
    this.tree.update(slot)
  }

  grow(capacity: number): void {
    this.tree.grow(capacity)
  }

  /** What goes before the number of calls. */
  protected rank(_slot: number): number {
    return 0
  }
}

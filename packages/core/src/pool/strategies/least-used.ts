import { TournamentTree } from '../indexes/tournament-tree.js'
import type { SlotTable } from '../members/slot-table.js'
import type { SelectionStrategy } from './strategy.js'

/** Chooses the member that was selected least often; among equals the one with the lowest slot. */
export class LeastUsedStrategy implements SelectionStrategy {
  protected readonly slotTable: SlotTable
  private readonly tree: TournamentTree

  constructor(slotTable: SlotTable) {
    this.slotTable = slotTable
    this.tree = new TournamentTree(slotTable.counters)
  }

  markAvailable(slot: number): void {
    this.tree.set(slot, this.primaryKey(slot))
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

  /** The key that is compared before the number of selections; the lowest wins. */
  protected primaryKey(_slot: number): number {
    return 0
  }
}

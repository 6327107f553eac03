import { reportOnce } from '../../report.js'
import type { Member } from '../members/member.js'
import type { SlotTable } from '../members/slot-table.js'
import { RoundRobinStrategy } from './round-robin.js'

/** Chooses a member for a call from the available members, in the order of their slots, and the call's context. */
export type Chooser<T = unknown> = (
  candidates: readonly Member<T>[],
  context: unknown,
) => Member<T> | undefined

/** Chooses the member that the user's function returns; the first candidate if it throws or returns none of them. */
export class FunctionStrategy extends RoundRobinStrategy {
  private readonly slotTable: SlotTable
  private readonly chooser: Chooser

  constructor(slotTable: SlotTable, chooser: Chooser) {
    super()
    this.slotTable = slotTable
    this.chooser = chooser
  }

  override chooseSlot(tried: readonly number[], context?: unknown): number {
    const { slotTable, chooser } = this
    const slots = this.availableExcept(tried)
    if (slots.length === 0) return -1
    const candidates = slots.map((slot) => slotTable.member(slot))
    let position = -1
    try {
      position = candidates.indexOf(chooser(candidates, context) as Member)
      if (position < 0) throw new TypeError('expected the strategy function to return one of its candidates')
    } catch (error) {
      reportOnce('the strategy of a pool', chooser, error)
    }
    return slots[Math.max(0, position)] as number
  }
}

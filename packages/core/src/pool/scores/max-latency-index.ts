import { growArray, type SlotIndexed } from '../indexes/grow-array.js'

/** The number of slots in a group. */
const GROUP_SIZE = 64

/**
 * Maintains the maximum of a non-negative number of each slot. It stores the maximum of each group of slots and searches a
 * group again only when the slot with its maximum decreases, so that most changes read one number.
 */
export class MaxLatencyIndex implements SlotIndexed {
  /** The maximum of all slots. */
  max = 0
  private readonly valueOfSlot: (slot: number) => number
  private groups = new Float64Array(0)
  private capacity = 0

  constructor(valueOfSlot: (slot: number) => number) {
    this.valueOfSlot = valueOfSlot
  }

  /** Must be called when the number of a slot has changed. */
  onChanged(slot: number, before: number, after: number): void {
    const group = Math.floor(slot / GROUP_SIZE)
    const groupMax = this.groups[group] as number
    if (after >= groupMax) this.groups[group] = after
    else if (before < groupMax) return
    else this.groups[group] = this.maxOfGroup(group)
    if (after >= this.max) this.max = after
    else if (groupMax === this.max) this.max = this.groups.reduce((max, next) => Math.max(max, next), 0)
  }

  grow(capacity: number): void {
    this.groups = growArray(this.groups, Math.ceil(capacity / GROUP_SIZE))
    this.capacity = capacity
  }

  private maxOfGroup(group: number): number {
    const end = Math.min(this.capacity, (group + 1) * GROUP_SIZE)
    let max = 0
    for (let slot = group * GROUP_SIZE; slot < end; slot++) max = Math.max(max, this.valueOfSlot(slot))
    return max
  }
}

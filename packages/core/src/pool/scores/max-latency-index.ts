import { growArray, type SlotIndexed } from '../indexes/grow-array.js'

/** Slots are looked after in groups of so many. */
const GROUP_SIZE = 64

/**
 * The highest of a number for each slot, 0 or more. The highest of each group is kept; it is looked for anew only when the
 * slot that held it falls, so that most changes cost one look.
 */
export class MaxLatencyIndex implements SlotIndexed {
  /** The highest of all. */
  max = 0
  private readonly valueOfSlot: (slot: number) => number
  private groups = new Float64Array(0)
  private capacity = 0

  /** @param valueOfSlot - the number of a slot */
  constructor(of: (slot: number) => number) {
    this.valueOfSlot = of
  }

  /** To be told when the number of a slot has changed. */
  onChanged(slot: number, before: number, after: number): void {
    const group = Math.floor(slot / GROUP_SIZE)
    const highest = this.groups[group] as number
    if (after >= highest) this.groups[group] = after
    else if (before < highest) return
    else this.groups[group] = this.maxOfGroup(group)
    if (after >= this.max) this.max = after
    else if (highest === this.max) this.max = this.groups.reduce((most, next) => Math.max(most, next), 0)
  }

  grow(capacity: number): void {
    this.groups = growArray(this.groups, Math.ceil(capacity / GROUP_SIZE))
    this.capacity = capacity
  }

  private maxOfGroup(group: number): number {
    const end = Math.min(this.capacity, (group + 1) * GROUP_SIZE)
    let highest = 0
    for (let slot = group * GROUP_SIZE; slot < end; slot++)
      highest = Math.max(highest, this.valueOfSlot(slot))
    return highest
  }
}

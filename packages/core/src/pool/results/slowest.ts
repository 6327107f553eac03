import { type Growing, grown } from '../indexes/grown.js'

/** Slots are looked after in groups of so many. */
const GROUP = 64

/**
 * The highest of a number for each slot, 0 or more. The highest of each group is kept; it is looked for anew only when the
 * slot that held it falls, so that most changes cost one look.
 */
export class Slowest implements Growing {
  /** The highest of all. */
  most = 0
  private readonly of: (slot: number) => number
  private groups = new Float64Array(0)
  private capacity = 0

  /** @param of - the number of a slot */
  constructor(of: (slot: number) => number) {
    this.of = of
  }

  /** To be told when the number of a slot has changed. */
  changed(slot: number, before: number, after: number): void {
    const group = Math.floor(slot / GROUP)
    const highest = this.groups[group] as number
    if (after >= highest) this.groups[group] = after
    else if (before < highest) return
    else this.groups[group] = this.highestOf(group)
    if (after >= this.most) this.most = after
    else if (highest === this.most) this.most = this.groups.reduce((most, next) => Math.max(most, next), 0)
  }

  grow(capacity: number): void {
    this.groups = grown(this.groups, Math.ceil(capacity / GROUP))
    this.capacity = capacity
  }

  private highestOf(group: number): number {
    const end = Math.min(this.capacity, (group + 1) * GROUP)
    let highest = 0
    for (let slot = group * GROUP; slot < end; slot++) highest = Math.max(highest, this.of(slot))
    return highest
  }
}

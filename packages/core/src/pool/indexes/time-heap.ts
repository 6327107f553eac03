/** A binary heap of slots by time, earliest first. */
export class TimeHeap {
  private readonly times: number[] = []
  private readonly slots: number[] = []

  /** The earliest time; Infinity if the heap is empty. */
  get earliest(): number {
    return this.times[0] ?? Infinity
  }

  push(time: number, slot: number): void {
    const { times, slots } = this
    let at = times.length
    while (at > 0) {
      const parent = (at - 1) >> 1
      if ((times[parent] as number) <= time) break
      times[at] = times[parent] as number
      slots[at] = slots[parent] as number
      at = parent
    }
    times[at] = time
    slots[at] = slot
  }

  /** Removes and returns the slot with the earliest time. The heap must not be empty. */
  pop(): number {
    const { times, slots } = this
    const first = slots[0] as number
    const time = times.pop() as number
    const slot = slots.pop() as number
    const { length } = times
    if (length === 0) return first
    let at = 0
    for (let child = 1; child < length; child = 2 * at + 1) {
      // Beyond the end, `undefined <` is false, so that the only child is used.
      if ((times[child + 1] as number) < (times[child] as number)) child++
      if ((times[child] as number) >= time) break
      times[at] = times[child] as number
      slots[at] = slots[child] as number
      at = child
    }
    times[at] = time
    slots[at] = slot
    return first
  }
}

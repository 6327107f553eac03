/** Slots and times, earliest first: a heap. */
export class TimeHeap {
  private readonly times: number[] = []
  private readonly slots: number[] = []

  /** The earliest time; Infinity where there is none. */
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

  /** Takes the earliest slot out. There must be one. */
  pop(): number {
    const { times, slots } = this
    const first = slots[0] as number
    const time = times.pop() as number
    const slot = slots.pop() as number
    const { length } = times
    if (length === 0) return first
    let at = 0
    for (let child = 1; child < length; child = 2 * at + 1) {
      // Beyond the end there is nothing, which is not less.
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

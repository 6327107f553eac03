/** Monotonic time, as those who count last read it. */
export interface ClockReading {
  now: number
}

/** What a series counts: how long a slot is, how many lie in a block, and how many numbers a slot holds. */
export interface SeriesShape {
  readonly step: number
  /** Slots of a block; a block begins at a multiple of its length. */
  readonly slots: number
  readonly fields: number
  /** Which field keeps the largest number instead of a sum. */
  readonly max?: number | undefined
  /** Whether it counts whole things alone, which takes half the memory. */
  readonly isInteger?: boolean | undefined
}

type NumberArray = Float64Array | Uint32Array

interface SeriesBlock {
  readonly start: number
  readonly numbers: NumberArray
  /** Whether it changed since it was last written. */
  isDirty: boolean
  /** When it last changed, in monotonic time. */
  changedAt: number
}

/**
 * Counters over time: slots of a minute or an hour, in blocks that are made when something is counted in them. A slot
 * belongs to its time by the wall clock, so one that is set back adds to what is there; a block is let go of by how long
 * ago it changed in monotonic time, so a clock that is set forward makes nothing old.
 */
export class TimeSeries {
  readonly shape: SeriesShape
  private readonly clockReading: ClockReading
  private readonly blocks = new Map<number, SeriesBlock>()
  private lastBlock: SeriesBlock | undefined = undefined

  constructor(shape: SeriesShape, reading: ClockReading) {
    this.shape = shape
    this.clockReading = reading
  }

  /** Adds to a field of the slot at `time`. */
  add(time: number, field: number, amount: number): void {
    if (amount === 0) return
    const { step, fields, max } = this.shape
    const block = this.block(time)
    const at = Math.floor((time - block.start) / step) * fields + field
    const previous = block.numbers[at] ?? 0
    block.numbers[at] = field === max ? Math.max(previous, amount) : previous + amount
    block.isDirty = true
    block.changedAt = this.clockReading.now
  }

  /** Adds up the slots that begin in [from, to) into `into`. */
  sum(from: number, to: number, into: Float64Array): void {
    this.forEachSlot(from, to, (_, numbers, at) => this.addSlot(into, numbers, at))
  }

  /** Visits the slots that begin in [from, to), in no order, those that count nothing included. */
  forEachSlot(
    from: number,
    to: number,
    visit: (start: number, numbers: NumberArray, at: number) => void,
  ): void {
    const { step, slots, fields } = this.shape
    for (const { start, numbers } of this.blocks.values()) {
      const first = Math.max(0, Math.ceil((from - start) / step))
      const end = Math.min(slots, Math.ceil((to - start) / step))
      for (let slot = first; slot < end; slot++) visit(start + slot * step, numbers, slot * fields)
    }
  }

  /** Adds one slot's numbers to others. */
  addSlot(into: Float64Array, numbers: NumberArray, at: number): void {
    const { fields, max } = this.shape
    for (let i = 0; i < fields; i++) {
      const amount = numbers[at + i] as number
      const previous = into[i] as number
      into[i] = i === max ? Math.max(previous, amount) : previous + amount
    }
  }

  /** Lets go of blocks that have not changed since a monotonic time. */
  expire(before: number): void {
    for (const { start, changedAt } of this.blocks.values()) if (changedAt < before) this.blocks.delete(start)
    this.lastBlock = undefined
  }

  get isEmpty(): boolean {
    return this.blocks.size === 0
  }

  /** The blocks that changed since the last time, as plain data: slots by their number. */
  takeChanged(): { start: number; data: Record<string, number[]> }[] {
    const { fields } = this.shape
    return [...this.blocks.values()]
      .filter(({ isDirty }) => isDirty)
      .map((block) => {
        const data: Record<string, number[]> = {}
        for (let slot = 0; slot < this.shape.slots; slot++) {
          const numbers = block.numbers.subarray(slot * fields, (slot + 1) * fields)
          if (numbers.some((number) => number !== 0)) data[slot] = [...numbers]
        }
        block.isDirty = false
        return { start: block.start, data }
      })
  }

  /** Says that a block has not been written after all. */
  markUnsaved(start: number): void {
    const block = this.blocks.get(start)
    if (block !== undefined) block.isDirty = true
  }

  /** Adds a block that was written and changed `age` milliseconds ago. What is not in its form is passed over. */
  mergeStored(start: number, data: unknown, age: number): void {
    const { step, slots, fields } = this.shape
    if (typeof data !== 'object' || data === null || start % (step * slots) !== 0) return
    const block = this.block(start)
    const { isDirty, changedAt } = block
    for (const [slot, numbers] of Object.entries(data)) {
      const slotIndex = Number(slot)
      if (!Number.isInteger(slotIndex) || slotIndex < 0 || slotIndex >= slots || !Array.isArray(numbers))
        continue
      for (let field = 0; field < fields; field++) {
        const amount: unknown = numbers[field]
        if (typeof amount === 'number' && amount > 0 && amount < Infinity)
          this.add(start + slotIndex * step, field, amount)
      }
    }
    block.isDirty = isDirty
    block.changedAt = Math.max(changedAt, this.clockReading.now - age)
  }

  private block(time: number): SeriesBlock {
    const { step, slots, fields, isInteger } = this.shape
    const length = step * slots
    const start = Math.floor(time / length) * length
    if (this.lastBlock?.start === start) return this.lastBlock
    let block = this.blocks.get(start)
    if (block === undefined) {
      const numbers = isInteger ? new Uint32Array(slots * fields) : new Float64Array(slots * fields)
      block = { start, numbers, isDirty: false, changedAt: Number.NEGATIVE_INFINITY }
      this.blocks.set(start, block)
    }
    this.lastBlock = block
    return block
  }
}

/** The last reading of the monotonic clock. */
export interface ClockReading {
  now: number
}

/** The shape of a series: the length of a slot, the slots per block, and the fields per slot. */
export interface SeriesShape {
  readonly step: number
  /** The slots of a block. A block starts at a multiple of its length. */
  readonly slots: number
  readonly fields: number
  /** The field that keeps a maximum instead of a sum. */
  readonly max?: number | undefined
  /** Whether all values are integers, which takes half the memory. */
  readonly isInteger?: boolean | undefined
}

type NumberArray = Float64Array | Uint32Array

interface SeriesBlock {
  readonly start: number
  readonly numbers: NumberArray
  /** Whether the block changed since it was last saved. */
  isDirty: boolean
  /** When the block last changed, in monotonic time. */
  changedAt: number
}

/**
 * Counters over time: slots of a minute or an hour, in blocks that are created when needed. A slot belongs to its
 * wall-clock time, so after a step backwards the existing slots are used again. A block expires by its last change in
 * monotonic time, so a step forwards expires nothing.
 */
export class TimeSeries {
  readonly shape: SeriesShape
  /** The milliseconds that a block covers. */
  readonly blockLength: number
  private readonly clockReading: ClockReading
  private readonly blocks = new Map<number, SeriesBlock>()
  private lastBlock: SeriesBlock | undefined = undefined

  constructor(shape: SeriesShape, reading: ClockReading) {
    this.blockLength = shape.step * shape.slots
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

  /** Sums the slots that start in [from, to) into `into`. */
  sum(from: number, to: number, into: Float64Array): void {
    this.forEachSlot(from, to, (_, numbers, at) => this.addSlot(into, numbers, at))
  }

  /** Visits the slots that start in [from, to), in no particular order, including empty ones. */
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

  /** Adds the values of a slot to `into`. */
  addSlot(into: Float64Array, numbers: NumberArray, at: number): void {
    const { fields, max } = this.shape
    for (let i = 0; i < fields; i++) {
      const amount = numbers[at + i] as number
      const previous = into[i] as number
      into[i] = i === max ? Math.max(previous, amount) : previous + amount
    }
  }

  /** Deletes blocks that have not changed since a monotonic time. */
  expire(before: number): void {
    for (const { start, changedAt } of this.blocks.values()) if (changedAt < before) this.blocks.delete(start)
    this.lastBlock = undefined
  }

  get isEmpty(): boolean {
    return this.blocks.size === 0
  }

  /** The blocks that changed since the last call, as plain data: slots by their index. */
  takeChanged(): { start: number; data: Record<string, number[]> }[] {
    const changed: ReturnType<TimeSeries['takeChanged']> = []
    for (const block of this.blocks.values()) {
      if (!block.isDirty) continue
      block.isDirty = false
      changed.push({ start: block.start, data: this.slotsOf(block) })
    }
    return changed
  }

  /** The slots of a block that are not empty, by their index. */
  private slotsOf({ numbers }: SeriesBlock): Record<string, number[]> {
    const { slots, fields } = this.shape
    const data: Record<string, number[]> = {}
    for (let slot = 0; slot < slots; slot++) {
      const first = slot * fields
      let at = first
      while (at < first + fields && numbers[at] === 0) at++
      if (at === first + fields) continue
      const values: number[] = []
      for (let i = first; i < first + fields; i++) values.push(numbers[i] as number)
      data[slot] = values
    }
    return data
  }

  /** Marks a block as changed, because it could not be saved. */
  markUnsaved(start: number): void {
    const block = this.blocks.get(start)
    if (block !== undefined) block.isDirty = true
  }

  /** Adds a stored block that changed `age` milliseconds ago. Data in another form is ignored. */
  mergeStored(start: number, data: unknown, age: number): void {
    const { step, slots, fields } = this.shape
    if (typeof data !== 'object' || data === null || start % this.blockLength !== 0) return
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
    const { slots, fields, isInteger } = this.shape
    const { blockLength: length } = this
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

/** Epoch milliseconds of a minute, an hour and a day. */
export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/** Monotonic time, as those who count last read it. */
export interface Reading {
  now: number
}

/** What a series counts: how long a slot is, how many lie in a block, and how many numbers a slot holds. */
export interface Shape {
  readonly step: number
  /** Slots of a block; a block begins at a multiple of its length. */
  readonly slots: number
  readonly fields: number
  /** Which field keeps the largest number instead of a sum. */
  readonly max?: number | undefined
  /** Whether it counts whole things alone, which takes half the memory. */
  readonly whole?: boolean | undefined
}

type Numbers = Float64Array | Uint32Array

interface Block {
  readonly start: number
  readonly numbers: Numbers
  /** Whether it changed since it was last written. */
  dirty: boolean
  /** When it last changed, in monotonic time. */
  touched: number
}

/**
 * Counters over time: slots of a minute or an hour, in blocks that are made when something is counted in them. A slot
 * belongs to its time by the wall clock, so one that is set back adds to what is there; a block is let go of by how long
 * ago it changed in monotonic time, so a clock that is set forward makes nothing old.
 */
export class Series {
  readonly shape: Shape
  private readonly reading: Reading
  private readonly blocks = new Map<number, Block>()
  private last: Block | undefined = undefined

  constructor(shape: Shape, reading: Reading) {
    this.shape = shape
    this.reading = reading
  }

  /** Adds to a field of the slot at `time`. */
  add(time: number, field: number, amount: number): void {
    if (amount === 0) return
    const { step, fields, max } = this.shape
    const block = this.block(time)
    const at = Math.floor((time - block.start) / step) * fields + field
    const was = block.numbers[at] ?? 0
    block.numbers[at] = field === max ? Math.max(was, amount) : was + amount
    block.dirty = true
    block.touched = this.reading.now
  }

  /** Adds up the slots that begin in [from, to) into `into`. */
  sum(from: number, to: number, into: Float64Array): void {
    this.each(from, to, (_, numbers, at) => this.fold(into, numbers, at))
  }

  /** Visits the slots that begin in [from, to), in no order, those that count nothing included. */
  each(from: number, to: number, visit: (start: number, numbers: Numbers, at: number) => void): void {
    const { step, slots, fields } = this.shape
    for (const { start, numbers } of this.blocks.values()) {
      const first = Math.max(0, Math.ceil((from - start) / step))
      const end = Math.min(slots, Math.ceil((to - start) / step))
      for (let slot = first; slot < end; slot++) visit(start + slot * step, numbers, slot * fields)
    }
  }

  /** Adds one slot's numbers to others. */
  fold(into: Float64Array, numbers: Numbers, at: number): void {
    const { fields, max } = this.shape
    for (let i = 0; i < fields; i++) {
      const amount = numbers[at + i] as number
      const was = into[i] as number
      into[i] = i === max ? Math.max(was, amount) : was + amount
    }
  }

  /** Lets go of blocks that have not changed since a monotonic time. */
  expire(before: number): void {
    for (const { start, touched } of this.blocks.values()) if (touched < before) this.blocks.delete(start)
    this.last = undefined
  }

  get empty(): boolean {
    return this.blocks.size === 0
  }

  /** The blocks that changed since the last time, as plain data: slots by their number. */
  changed(): { start: number; data: Record<string, number[]> }[] {
    const { fields } = this.shape
    return [...this.blocks.values()]
      .filter(({ dirty }) => dirty)
      .map((block) => {
        const data: Record<string, number[]> = {}
        for (let slot = 0; slot < this.shape.slots; slot++) {
          const numbers = block.numbers.subarray(slot * fields, (slot + 1) * fields)
          if (numbers.some((number) => number !== 0)) data[slot] = [...numbers]
        }
        block.dirty = false
        return { start: block.start, data }
      })
  }

  /** Says that a block has not been written after all. */
  unsaved(start: number): void {
    const block = this.blocks.get(start)
    if (block !== undefined) block.dirty = true
  }

  /** Adds a block that was written and changed `age` milliseconds ago. What is not in its form is passed over. */
  absorb(start: number, data: unknown, age: number): void {
    const { step, slots, fields } = this.shape
    if (typeof data !== 'object' || data === null || start % (step * slots) !== 0) return
    const block = this.block(start)
    const { dirty, touched } = block
    for (const [slot, numbers] of Object.entries(data)) {
      const place = Number(slot)
      if (!Number.isInteger(place) || place < 0 || place >= slots || !Array.isArray(numbers)) continue
      for (let field = 0; field < fields; field++) {
        const amount: unknown = numbers[field]
        if (typeof amount === 'number' && amount > 0 && amount < Infinity)
          this.add(start + place * step, field, amount)
      }
    }
    block.dirty = dirty
    block.touched = Math.max(touched, this.reading.now - age)
  }

  private block(time: number): Block {
    const { step, slots, fields, whole } = this.shape
    const length = step * slots
    const start = Math.floor(time / length) * length
    if (this.last?.start === start) return this.last
    let block = this.blocks.get(start)
    if (block === undefined) {
      const numbers = whole ? new Uint32Array(slots * fields) : new Float64Array(slots * fields)
      block = { start, numbers, dirty: false, touched: Number.NEGATIVE_INFINITY }
      this.blocks.set(start, block)
    }
    this.last = block
    return block
  }
}

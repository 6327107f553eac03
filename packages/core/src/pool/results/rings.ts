import { type Growing, grown } from '../indexes/grown.js'

/** A block grows to this many times its size when it is full. */
const GROWTH = 4

/** A row of numbers for each slot, all in one array, in blocks that grow as they are used: 1, 4, 16, … up to `most`. */
export class Rings implements Growing {
  private numbers = new Float32Array(1024)
  private end = 0
  /** Two numbers for each slot: where its block begins, and the block's size; 0 is none. */
  private rows = new Uint32Array(0)
  /** The blocks that are free, by size. */
  private readonly left = new Map<number, number[]>()
  private readonly most: number

  constructor(most: number) {
    this.most = most
  }

  get(slot: number, index: number): number {
    return this.numbers[(this.rows[2 * slot] as number) + index] as number
  }

  /** Writes a number; `index` is at most one beyond those written before. */
  set(slot: number, index: number, value: number): void {
    const size = this.rows[2 * slot + 1] as number
    if (index >= size) this.move(slot, Math.min(this.most, Math.max(1, size * GROWTH)))
    this.numbers[(this.rows[2 * slot] as number) + index] = value
  }

  /** Gives a slot's block back. */
  free(slot: number): void {
    const size = this.rows[2 * slot + 1] as number
    if (size === 0) return
    const start = this.rows[2 * slot] as number
    const left = this.left.get(size)
    if (left === undefined) this.left.set(size, [start])
    else left.push(start)
    this.rows[2 * slot + 1] = 0
  }

  grow(capacity: number): void {
    this.rows = grown(this.rows, 2 * capacity)
  }

  private move(slot: number, size: number): void {
    const from = this.rows[2 * slot] as number
    const held = this.rows[2 * slot + 1] as number
    let to = this.left.get(size)?.pop()
    if (to === undefined) {
      to = this.end
      this.end += size
      if (this.end > this.numbers.length)
        this.numbers = grown(this.numbers, Math.ceil(Math.max(this.end, this.numbers.length * 1.5)))
    }
    this.numbers.copyWithin(to, from, from + held)
    this.free(slot)
    this.rows[2 * slot] = to
    this.rows[2 * slot + 1] = size
  }
}

import { type Growing, grown } from '../indexes/grown.js'

/** Into how many stretches the window is cut; what is remembered is exact to one of them. */
const STRETCHES = 8

/** How many different slots were seen within a window of time. */
export class Recent implements Growing {
  /** How many there are. */
  size = 0
  /** The stretch in which each slot was last seen, from 1 on, and how many belong to each of the last ones. */
  private seen = new Uint32Array(0)
  private readonly counts = new Float64Array(STRETCHES)
  private stretch = STRETCHES
  private offset = STRETCHES
  private readonly length: number

  constructor(duration: number) {
    this.length = duration / STRETCHES
  }

  add(slot: number, now: number): void {
    this.roll(now)
    if (this.seen[slot] === this.stretch) return
    this.forget(slot)
    this.seen[slot] = this.stretch
    ;(this.counts[this.stretch % STRETCHES] as number) += 1
    this.size++
  }

  /** Lets go of what is too old. */
  roll(now: number): void {
    const stretch = Math.floor(now / this.length) + this.offset
    if (stretch - this.stretch >= STRETCHES) {
      this.counts.fill(0)
      this.size = 0
      this.stretch = stretch
    }
    while (this.stretch < stretch) {
      const oldest = ++this.stretch % STRETCHES
      this.size -= this.counts[oldest] as number
      this.counts[oldest] = 0
    }
  }

  forget(slot: number): void {
    const seen = this.seen[slot] as number
    this.seen[slot] = 0
    if (seen <= this.stretch - STRETCHES) return
    ;(this.counts[seen % STRETCHES] as number) -= 1
    this.size--
  }

  /** Forgets all of them. */
  clear(): void {
    if (this.size === 0) return
    this.offset += STRETCHES
    this.stretch += STRETCHES
    this.counts.fill(0)
    this.size = 0
  }

  grow(capacity: number): void {
    this.seen = grown(this.seen, capacity)
  }
}

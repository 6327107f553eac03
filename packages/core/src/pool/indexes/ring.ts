import { Bits } from './bits.js'
import { type Growing, grown } from './grown.js'

/** The points of a ring are the numbers of 32 bits. */
const CIRCLE = 2 ** 32

/**
 * Slots at points of a ring, and the nearest of them from any point on. The ring is cut into as many arcs as there may be
 * slots; each arc lists its slots in no order, because there are hardly ever more than a few.
 */
export class Ring implements Growing {
  private points = new Uint32Array(0)
  /** The first slot of each arc, and the one after each slot, plus 1; 0 is none. */
  private heads = new Int32Array(0)
  private nexts = new Int32Array(0)
  private filled = new Bits()

  insert(slot: number, point: number): void {
    const arc = this.arcOf(point)
    this.points[slot] = point
    this.nexts[slot] = this.heads[arc] as number
    this.heads[arc] = slot + 1
    this.filled.set(arc)
  }

  delete(slot: number): void {
    const { heads, nexts } = this
    const arc = this.arcOf(this.points[slot] as number)
    const after = nexts[slot] as number
    if (heads[arc] === slot + 1) heads[arc] = after
    else {
      let before = (heads[arc] as number) - 1
      while (nexts[before] !== slot + 1) before = (nexts[before] as number) - 1
      nexts[before] = after
    }
    if (heads[arc] === 0) this.filled.clear(arc)
  }

  /** The point of a slot on the ring. */
  pointOf(slot: number): number {
    return this.points[slot] as number
  }

  /** The slot not in `tried` that is nearest from `point` on, or -1. Of two at one point it is the higher one. */
  nearest(point: number, tried: readonly number[]): number {
    const { filled } = this
    const start = this.arcOf(point)
    let arc = start
    let found = this.nearestIn(arc, point, CIRCLE - 1, tried)
    for (let wrapped = false; found < 0; found = this.nearestIn(arc, 0, CIRCLE - 1, tried)) {
      arc = filled.next(arc + 1)
      if (arc >= 0 && (!wrapped || arc < start)) continue
      if (wrapped) break
      wrapped = true
      arc = filled.next(0)
      if (arc < 0 || arc >= start) break
    }
    return found >= 0 ? found : this.nearestIn(start, 0, point - 1, tried)
  }

  grow(capacity: number): void {
    const slots: number[] = []
    for (const head of this.heads)
      for (let slot = head - 1; slot >= 0; slot = (this.nexts[slot] as number) - 1) slots.push(slot)
    this.points = grown(this.points, capacity)
    this.nexts = new Int32Array(capacity)
    this.heads = new Int32Array(capacity)
    this.filled = new Bits()
    this.filled.grow(capacity)
    for (const slot of slots) this.insert(slot, this.points[slot] as number)
  }

  private arcOf(point: number): number {
    return Math.floor((point / CIRCLE) * this.heads.length)
  }

  /** The slot of an arc with the lowest point from `least` to `most`. */
  private nearestIn(arc: number, least: number, most: number, tried: readonly number[]): number {
    const { points, nexts, heads } = this
    let found = -1
    let best = most
    for (let slot = (heads[arc] as number) - 1; slot >= 0; slot = (nexts[slot] as number) - 1) {
      const point = points[slot] as number
      if (point < least || point > best || (point === best && slot < found) || tried.includes(slot)) continue
      found = slot
      best = point
    }
    return found
  }
}

import { Bits } from './bits.js'
import { type Growing, grown } from './grown.js'
import { spread } from './hash.js'

/**
 * Each slot stands at so many points of the ring, and a key looks from so many others and goes to the slot that is
 * nearest to any of them. Either number alone would have to be far higher for shares that are as even.
 */
const POINTS = 4
const LOOKS = 4

/** The points of the ring are the numbers of 32 bits. */
const LAST = 2 ** 32 - 1

/**
 * Consistent hashing: a slot that comes or goes moves the keys of its own and no others. The ring is cut into arcs, half
 * as many as there may be points, or as many. The first point of an arc lies in the arc itself, because there are hardly ever more
 * than a few and looks into memory are what takes time; the others follow as a list, in no order.
 */
export class Ring implements Growing {
  /**
   * Three numbers for each arc: its first entry plus 1, 0 where it is empty, that entry's point, and the next entry plus
   * 1. Each slot has {@link POINTS} entries, one after the other.
   */
  private arcs = new Uint32Array(0)
  /** Two numbers for each entry that is not the first of its arc: its point, and the next entry plus 1. */
  private rows = new Uint32Array(0)
  private filled = new Bits()
  /** How many bits of a point are within its arc. */
  private shift = 0
  /** The point of the entry that was found last. */
  private found = 0

  /** Puts a slot on the ring, at points that its hash decides. */
  insert(slot: number, hash: number): void {
    for (let i = 0; i < POINTS; i++) this.put(slot * POINTS + i, spread(hash, i))
  }

  /** Takes a slot off the ring, which was put there with the same hash. */
  delete(slot: number, hash: number): void {
    for (let i = 0; i < POINTS; i++) this.drop(slot * POINTS + i, spread(hash, i))
  }

  /** The slot not in `tried` that a key with this hash goes to, or -1. */
  find(hash: number, tried: readonly number[]): number {
    let best = -1
    let distance = Infinity
    for (let i = 0; i < LOOKS; i++) {
      const point = spread(hash, i)
      const entry = this.nearest(point, tried)
      if (entry < 0) break
      const far = (this.found - point) >>> 0
      if (far < distance) {
        best = entry
        distance = far
      }
    }
    return best < 0 ? -1 : Math.floor(best / POINTS)
  }

  grow(capacity: number): void {
    this.rows = grown(this.rows, 2 * POINTS * capacity)
    const count = (POINTS * capacity) / 2
    // To cut the ring anew takes long, so that it is cut finer than it must be, and every other time is enough.
    if (3 * count > this.arcs.length) this.cut(this.arcs.length === 0 ? count : 2 * count)
  }

  /** The entry, of a slot not in `tried`, that is nearest from `point` on, or -1. */
  private nearest(point: number, tried: readonly number[]): number {
    const { filled } = this
    const start = point >>> this.shift
    let found = this.nearestIn(start, point, LAST, tried)
    for (let arc = start; found < 0; ) {
      arc = filled.next(arc + 1)
      if (arc < 0) break
      found = this.nearestIn(arc, 0, LAST, tried)
    }
    for (let arc = -1; found < 0; ) {
      arc = filled.next(arc + 1)
      if (arc < 0 || arc >= start) break
      found = this.nearestIn(arc, 0, LAST, tried)
    }
    return found >= 0 ? found : this.nearestIn(start, 0, point - 1, tried)
  }

  /** The entry of an arc with the lowest point from `least` to `most`. Of two at one point it is the higher. */
  private nearestIn(arc: number, least: number, most: number, tried: readonly number[]): number {
    const { arcs, rows } = this
    let entry = (arcs[3 * arc] as number) - 1
    let point = arcs[3 * arc + 1] as number
    let next = (arcs[3 * arc + 2] as number) - 1
    let found = -1
    let best = most
    while (entry >= 0) {
      if (point >= least && (point < best || (point === best && entry > found)))
        if (tried.length === 0 || !tried.includes(Math.floor(entry / POINTS))) {
          found = entry
          best = point
        }
      entry = next
      if (entry < 0) break
      point = rows[2 * entry] as number
      next = (rows[2 * entry + 1] as number) - 1
    }
    this.found = best
    return found
  }

  /** Cuts the ring into so many arcs, a power of two. */
  private cut(count: number): void {
    const { arcs, rows } = this
    this.arcs = new Uint32Array(3 * count)
    this.shift = Math.clz32(count) + 1
    this.filled = new Bits()
    this.filled.grow(count)
    for (let arc = 0; arc < arcs.length; arc += 3) {
      let entry = arcs[arc] as number
      let point = arcs[arc + 1] as number
      let next = arcs[arc + 2] as number
      while (entry > 0) {
        // This writes the rows of entries that were put before, and those have been read.
        this.put(entry - 1, point)
        entry = next
        point = rows[2 * entry - 2] as number
        next = rows[2 * entry - 1] as number
      }
    }
  }

  private put(entry: number, point: number): void {
    const { arcs, rows } = this
    const arc = 3 * (point >>> this.shift)
    const first = arcs[arc] as number
    if (first > 0) {
      rows[2 * first - 2] = arcs[arc + 1] as number
      rows[2 * first - 1] = arcs[arc + 2] as number
    } else this.filled.set(point >>> this.shift)
    arcs[arc] = entry + 1
    arcs[arc + 1] = point
    arcs[arc + 2] = first
  }

  private drop(entry: number, point: number): void {
    const { arcs, rows } = this
    const arc = 3 * (point >>> this.shift)
    const second = arcs[arc + 2] as number
    if (arcs[arc] === entry + 1) {
      arcs[arc] = second
      if (second === 0) this.filled.clear(point >>> this.shift)
      else {
        arcs[arc + 1] = rows[2 * second - 2] as number
        arcs[arc + 2] = rows[2 * second - 1] as number
      }
    } else if (second === entry + 1) arcs[arc + 2] = rows[2 * entry + 1] as number
    else {
      let before = second
      while (rows[2 * before - 1] !== entry + 1) before = rows[2 * before - 1] as number
      rows[2 * before - 1] = rows[2 * entry + 1] as number
    }
  }
}

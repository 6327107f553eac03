import { Bits } from './bits.js'
import { type Growing, grown } from './grown.js'
import { mix } from './hash.js'

/**
 * Each slot stands at so many points of the ring, and a key looks from so many others and goes to the slot that is
 * nearest to any of them. Either number alone would have to be far higher for shares that are as even.
 */
const POINTS = 4
const LOOKS = 4
const STRIDE = 0x9e3779b9

/** The points of the ring are the numbers of 32 bits. */
const LAST = 2 ** 32 - 1

/**
 * Consistent hashing: a slot that comes or goes moves the keys of its own and no others. The ring is cut into arcs, half
 * as many as there may be points; each lists its points in no order, because there are hardly ever more than a few.
 */
export class Ring implements Growing {
  /** The first entry of each arc, plus 1; 0 is none. Each slot has {@link POINTS} entries, one after the other. */
  private heads = new Uint32Array(0)
  /** Two numbers for each entry: its point, and the entry after it in its arc, plus 1. */
  private rows = new Uint32Array(0)
  private filled = new Bits()
  /** How many bits of a point are within its arc. */
  private shift = 0

  /** Puts a slot on the ring, at points that its hash decides. */
  insert(slot: number, hash: number): void {
    for (let i = 0; i < POINTS; i++) this.put(slot * POINTS + i, mix(hash + i * STRIDE))
  }

  /** Takes a slot off the ring. */
  delete(slot: number): void {
    for (let i = 0; i < POINTS; i++) this.drop(slot * POINTS + i)
  }

  /** The slot not in `tried` that a key with this hash goes to, or -1. */
  find(hash: number, tried: readonly number[]): number {
    let found = -1
    let distance = Infinity
    for (let i = 0; i < LOOKS; i++) {
      const point = mix(hash + i * STRIDE)
      const entry = this.nearest(point, tried)
      if (entry < 0) break
      const far = (this.pointOf(entry) - point) >>> 0
      if (far < distance) {
        found = entry
        distance = far
      }
    }
    return found < 0 ? -1 : Math.floor(found / POINTS)
  }

  grow(capacity: number): void {
    const entries: number[] = []
    for (let arc = 0; arc < this.heads.length; arc++)
      for (let entry = this.head(arc); entry >= 0; entry = this.after(entry)) entries.push(entry)
    this.rows = grown(this.rows, 2 * POINTS * capacity)
    this.heads = new Uint32Array((POINTS * capacity) / 2)
    this.shift = Math.clz32(this.heads.length) + 1
    this.filled = new Bits()
    this.filled.grow(this.heads.length)
    for (const entry of entries) this.put(entry, this.pointOf(entry))
  }

  /** The entry, of a slot not in `tried`, that is nearest from `point` on, or -1. */
  private nearest(point: number, tried: readonly number[]): number {
    const { filled } = this
    const start = point >>> this.shift
    let found = this.nearestIn(start, point, LAST, tried)
    for (let arc = filled.next(start + 1); arc >= 0 && found < 0; arc = filled.next(arc + 1))
      found = this.nearestIn(arc, 0, LAST, tried)
    for (let arc = filled.next(0); arc >= 0 && arc < start && found < 0; arc = filled.next(arc + 1))
      found = this.nearestIn(arc, 0, LAST, tried)
    return found >= 0 ? found : this.nearestIn(start, 0, point - 1, tried)
  }

  /** The entry of an arc with the lowest point from `least` to `most`. Of two at one point it is the higher. */
  private nearestIn(arc: number, least: number, most: number, tried: readonly number[]): number {
    let found = -1
    let best = most
    for (let entry = this.head(arc); entry >= 0; entry = this.after(entry)) {
      const point = this.pointOf(entry)
      if (point < least || point > best || (point === best && entry < found)) continue
      if (tried.length > 0 && tried.includes(Math.floor(entry / POINTS))) continue
      found = entry
      best = point
    }
    return found
  }

  private put(entry: number, point: number): void {
    const { rows, heads } = this
    const arc = point >>> this.shift
    rows[2 * entry] = point
    rows[2 * entry + 1] = heads[arc] as number
    heads[arc] = entry + 1
    this.filled.set(arc)
  }

  private drop(entry: number): void {
    const { rows, heads } = this
    const arc = this.pointOf(entry) >>> this.shift
    const next = rows[2 * entry + 1] as number
    if (this.head(arc) === entry) heads[arc] = next
    else {
      let before = this.head(arc)
      while (this.after(before) !== entry) before = this.after(before)
      rows[2 * before + 1] = next
    }
    if (heads[arc] === 0) this.filled.clear(arc)
  }

  private pointOf(entry: number): number {
    return this.rows[2 * entry] as number
  }

  private head(arc: number): number {
    return (this.heads[arc] as number) - 1
  }

  private after(entry: number): number {
    return (this.rows[2 * entry + 1] as number) - 1
  }
}

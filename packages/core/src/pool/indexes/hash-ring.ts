import { BitSet } from './bit-set.js'
import { growArray, type SlotIndexed } from './grow-array.js'
import { nthHash } from './hash.js'

/**
 * Each slot stands at so many points of the ring, and a key looks from so many others and goes to the slot that is
 * nearest to any of them. Either number alone would have to be far higher for shares that are as even.
 */
const POINTS_PER_SLOT = 4
const PROBES_PER_KEY = 4

/** The points of the ring are the numbers of 32 bits. */
const MAX_POINT = 2 ** 32 - 1

/**
 * Consistent hashing: a slot that comes or goes moves the keys of its own and no others. The ring is cut into arcs, half
 * as many as there may be points, or as many. The first point of an arc lies in the arc itself, because there are hardly ever more
 * than a few and looks into memory are what takes time; the others follow as a list, in no order.
 */
export class HashRing implements SlotIndexed {
  /**
   * Three numbers for each arc: its first entry plus 1, 0 where it is empty, that entry's point, and the next entry plus
   * 1. Each slot has {@link POINTS_PER_SLOT} entries, one after the other.
   */
  private buckets = new Uint32Array(0)
  /** Two numbers for each entry that is not the first of its arc: its point, and the next entry plus 1. */
  private overflow = new Uint32Array(0)
  private occupied = new BitSet()
  /** How many bits of a point are within its arc. */
  private shift = 0
  /** The point of the entry that was found last. */
  private lastPoint = 0

  /** Puts a slot on the ring, at points that its hash decides. */
  insert(slot: number, hash: number): void {
    for (let i = 0; i < POINTS_PER_SLOT; i++) this.insertEntry(slot * POINTS_PER_SLOT + i, nthHash(hash, i))
  }

  /** Takes a slot off the ring, which was put there with the same hash. */
  delete(slot: number, hash: number): void {
    for (let i = 0; i < POINTS_PER_SLOT; i++) this.deleteEntry(slot * POINTS_PER_SLOT + i, nthHash(hash, i))
  }

  /** The slot not in `tried` that a key with this hash goes to, or -1. */
  find(hash: number, tried: readonly number[]): number {
    let best = -1
    let distance = Infinity
    for (let i = 0; i < PROBES_PER_KEY; i++) {
      const point = nthHash(hash, i)
      const entry = this.nearestEntry(point, tried)
      if (entry < 0) break
      const far = (this.lastPoint - point) >>> 0
      if (far < distance) {
        best = entry
        distance = far
      }
    }
    return best < 0 ? -1 : Math.floor(best / POINTS_PER_SLOT)
  }

  grow(capacity: number): void {
    this.overflow = growArray(this.overflow, 2 * POINTS_PER_SLOT * capacity)
    const count = (POINTS_PER_SLOT * capacity) / 2
    // To cut the ring anew takes long, so that it is cut finer than it must be, and every other time is enough.
    if (3 * count > this.buckets.length) this.resize(this.buckets.length === 0 ? count : 2 * count)
  }

  /** The entry, of a slot not in `tried`, that is nearest from `point` on, or -1. */
  private nearestEntry(point: number, tried: readonly number[]): number {
    const { occupied } = this
    const start = point >>> this.shift
    let found = this.nearestInBucket(start, point, MAX_POINT, tried)
    for (let bucket = start; found < 0; ) {
      bucket = occupied.next(bucket + 1)
      if (bucket < 0) break
      found = this.nearestInBucket(bucket, 0, MAX_POINT, tried)
    }
    for (let bucket = -1; found < 0; ) {
      bucket = occupied.next(bucket + 1)
      if (bucket < 0 || bucket >= start) break
      found = this.nearestInBucket(bucket, 0, MAX_POINT, tried)
    }
    return found >= 0 ? found : this.nearestInBucket(start, 0, point - 1, tried)
  }

  /** The entry of an arc with the lowest point from `least` to `most`. Of two at one point it is the higher. */
  private nearestInBucket(bucket: number, least: number, most: number, tried: readonly number[]): number {
    const { buckets, overflow } = this
    let entry = (buckets[3 * bucket] as number) - 1
    let point = buckets[3 * bucket + 1] as number
    let next = (buckets[3 * bucket + 2] as number) - 1
    let found = -1
    let best = most
    while (entry >= 0) {
      if (point >= least && (point < best || (point === best && entry > found)))
        if (tried.length === 0 || !tried.includes(Math.floor(entry / POINTS_PER_SLOT))) {
          found = entry
          best = point
        }
      entry = next
      if (entry < 0) break
      point = overflow[2 * entry] as number
      next = (overflow[2 * entry + 1] as number) - 1
    }
    this.lastPoint = best
    return found
  }

  /** Cuts the ring into so many arcs, a power of two. */
  private resize(count: number): void {
    const { buckets, overflow } = this
    this.buckets = new Uint32Array(3 * count)
    this.shift = Math.clz32(count) + 1
    this.occupied = new BitSet()
    this.occupied.grow(count)
    for (let bucket = 0; bucket < buckets.length; bucket += 3) {
      let entry = buckets[bucket] as number
      let point = buckets[bucket + 1] as number
      let next = buckets[bucket + 2] as number
      while (entry > 0) {
        // This writes the rows of entries that were put before, and those have been read.
        this.insertEntry(entry - 1, point)
        entry = next
        point = overflow[2 * entry - 2] as number
        next = overflow[2 * entry - 1] as number
      }
    }
  }

  private insertEntry(entry: number, point: number): void {
    const { buckets, overflow } = this
    const bucket = 3 * (point >>> this.shift)
    const first = buckets[bucket] as number
    if (first > 0) {
      overflow[2 * first - 2] = buckets[bucket + 1] as number
      overflow[2 * first - 1] = buckets[bucket + 2] as number
    } else this.occupied.set(point >>> this.shift)
    buckets[bucket] = entry + 1
    buckets[bucket + 1] = point
    buckets[bucket + 2] = first
  }

  private deleteEntry(entry: number, point: number): void {
    const { buckets, overflow } = this
    const bucket = 3 * (point >>> this.shift)
    const second = buckets[bucket + 2] as number
    if (buckets[bucket] === entry + 1) {
      buckets[bucket] = second
      if (second === 0) this.occupied.clear(point >>> this.shift)
      else {
        buckets[bucket + 1] = overflow[2 * second - 2] as number
        buckets[bucket + 2] = overflow[2 * second - 1] as number
      }
    } else if (second === entry + 1) buckets[bucket + 2] = overflow[2 * entry + 1] as number
    else {
      let before = second
      while (overflow[2 * before - 1] !== entry + 1) before = overflow[2 * before - 1] as number
      overflow[2 * before - 1] = overflow[2 * entry + 1] as number
    }
  }
}

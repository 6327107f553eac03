import { BitSet } from './bit-set.js'
import { growArray, type SlotIndexed } from './grow-array.js'
import { nthHash } from './hash.js'

/**
 * Each slot has several points on the ring, and each key several probes; the key belongs to the slot whose point is nearest to
 * any of its probes. With only one of the two techniques, the number would have to be far higher for an equally even
 * distribution.
 */
const POINTS_PER_SLOT = 4
const PROBES_PER_KEY = 4

/** The points of the ring are the unsigned 32-bit integers. */
const MAX_POINT = 2 ** 32 - 1

/**
 * Consistent hashing: adding or removing a slot moves only the keys of that slot. The ring is divided into buckets, half as
 * many as the maximum number of points, or as many. The first entry of a bucket is stored in the bucket itself, because most
 * buckets have few entries and memory accesses dominate the cost; the others follow as an unordered linked list.
 */
export class HashRing implements SlotIndexed {
  /**
   * Three numbers for each bucket: its first entry plus 1 (0 if it is empty), the point of that entry, and the next entry
   * plus 1. Each slot has {@link POINTS_PER_SLOT} consecutive entries.
   */
  private buckets = new Uint32Array(0)
  /** Two numbers for each entry that is not the first of its bucket: its point, and the next entry plus 1. */
  private overflow = new Uint32Array(0)
  private occupied = new BitSet()
  /** The number of low bits of a point that do not select the bucket. */
  private shift = 0
  /** The point of the entry that was found last, which saves `find` another lookup. */
  private lastPoint = 0

  /** Adds a slot at points that are derived from its hash. */
  insert(slot: number, hash: number): void {
    for (let i = 0; i < POINTS_PER_SLOT; i++) this.insertEntry(slot * POINTS_PER_SLOT + i, nthHash(hash, i))
  }

  /** Deletes a slot that was inserted with the same hash. */
  delete(slot: number, hash: number): void {
    for (let i = 0; i < POINTS_PER_SLOT; i++) this.deleteEntry(slot * POINTS_PER_SLOT + i, nthHash(hash, i))
  }

  /** The slot, not in `tried`, that a key with this hash belongs to, or -1. */
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
    // Resizing is expensive, so the ring gets twice the necessary buckets, and every other call resizes.
    if (3 * count > this.buckets.length) this.resize(this.buckets.length === 0 ? count : 2 * count)
  }

  /** The first entry at or after `point`, around the ring, whose slot is not in `tried`, or -1. */
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

  /** The entry of a bucket with the lowest point from `min` to `max`. Of two at the same point the higher entry wins. */
  private nearestInBucket(bucket: number, min: number, max: number, tried: readonly number[]): number {
    const { buckets, overflow } = this
    let entry = (buckets[3 * bucket] as number) - 1
    let point = buckets[3 * bucket + 1] as number
    let next = (buckets[3 * bucket + 2] as number) - 1
    let found = -1
    let best = max
    while (entry >= 0) {
      if (point >= min && (point < best || (point === best && entry > found)))
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

  /** Divides the ring into `count` buckets, a power of two. */
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
        // This overwrites the overflow rows of entries that were inserted before, which have already been read.
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

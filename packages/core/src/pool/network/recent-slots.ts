import { growArray, type SlotIndexed } from '../indexes/grow-array.js'

/** The number of buckets of the window, and thus the resolution of the count. */
const RECENT_BUCKET_COUNT = 8

/** Counts the distinct slots that were seen within a time window. */
export class RecentSlots implements SlotIndexed {
  /** The number of distinct slots. */
  size = 0
  /** The bucket in which each slot was last seen, 0 for none, and the number of slots of each recent bucket. */
  private lastSeenBucket = new Uint32Array(0)
  private readonly countByBucket = new Float64Array(RECENT_BUCKET_COUNT)
  private currentBucket = RECENT_BUCKET_COUNT
  private firstBucket = RECENT_BUCKET_COUNT
  private readonly bucketMs: number

  constructor(windowMs: number) {
    this.bucketMs = windowMs / RECENT_BUCKET_COUNT
  }

  add(slot: number, now: number): void {
    this.advance(now)
    if (this.lastSeenBucket[slot] === this.currentBucket) return
    this.remove(slot)
    this.lastSeenBucket[slot] = this.currentBucket
    ;(this.countByBucket[this.currentBucket % RECENT_BUCKET_COUNT] as number) += 1
    this.size++
  }

  /** Drops the buckets that have left the window. */
  advance(now: number): void {
    const bucket = Math.floor(now / this.bucketMs) + this.firstBucket
    if (bucket - this.currentBucket >= RECENT_BUCKET_COUNT) {
      this.countByBucket.fill(0)
      this.size = 0
      this.currentBucket = bucket
    }
    while (this.currentBucket < bucket) {
      const oldest = ++this.currentBucket % RECENT_BUCKET_COUNT
      this.size -= this.countByBucket[oldest] as number
      this.countByBucket[oldest] = 0
    }
  }

  remove(slot: number): void {
    const seen = this.lastSeenBucket[slot] as number
    this.lastSeenBucket[slot] = 0
    if (seen <= this.currentBucket - RECENT_BUCKET_COUNT) return
    ;(this.countByBucket[seen % RECENT_BUCKET_COUNT] as number) -= 1
    this.size--
  }

  /** Removes all slots. */

  clear(): void {
    if (this.size === 0) return
    this.firstBucket += RECENT_BUCKET_COUNT
    this.currentBucket += RECENT_BUCKET_COUNT
    this.countByBucket.fill(0)
    this.size = 0
  }

  grow(capacity: number): void {
    this.lastSeenBucket = growArray(this.lastSeenBucket, capacity)
  }
}

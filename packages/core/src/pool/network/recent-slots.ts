import { growArray, type SlotIndexed } from '../indexes/grow-array.js'

/** Into how many stretches the window is cut; what is remembered is exact to one of them. */
const RECENT_BUCKET_COUNT = 8

/** How many different slots were seen within a window of time. */
export class RecentSlots implements SlotIndexed {
  /** How many there are. */
  size = 0
  /** The stretch in which each slot was last seen, from 1 on, and how many belong to each of the last ones. */
  private lastSeenBucket = new Uint32Array(0)
  private readonly countByBucket = new Float64Array(RECENT_BUCKET_COUNT)
  private currentBucket = RECENT_BUCKET_COUNT
  private firstBucket = RECENT_BUCKET_COUNT
  private readonly bucketMs: number

  constructor(duration: number) {
    this.bucketMs = duration / RECENT_BUCKET_COUNT
  }

  add(slot: number, now: number): void {
    this.advance(now)
    if (this.lastSeenBucket[slot] === this.currentBucket) return
    this.remove(slot)
    this.lastSeenBucket[slot] = this.currentBucket
    ;(this.countByBucket[this.currentBucket % RECENT_BUCKET_COUNT] as number) += 1
    this.size++
  }

  /** Lets go of what is too old. */
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

  /** Forgets all of them. */
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

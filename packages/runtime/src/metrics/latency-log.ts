import { HOUR_MS, MINUTE_MS } from '@holdfast/records'
import type { ClockReading } from './time-series.js'

/** The upper bound of the first bucket. */
const MIN_DURATION_MS = 0.1

/** The ratio of the bounds of a bucket. Quantiles are the middle of a bucket, so their relative error is at most 5 %. */
const GROWTH = 1.1
const LOG_GROWTH = Math.log(GROWTH)

/** The number of buckets. The last one contains all durations above 900 hours. */
const LATENCY_BUCKETS = 256

// An entry is one number: the minute of the hour, the bucket and the weight.
const BUCKET_SHIFT = 18
const MINUTE_SHIFT = 26
const MAX_WEIGHT = 2 ** BUCKET_SHIFT - 1

const MINUTES = HOUR_MS / MINUTE_MS

interface LatencyBlock {
  readonly start: number
  entries: Uint32Array
  size: number
  /** Whether the block changed since it was last saved. */
  isDirty: boolean
  /** When the block last changed, in monotonic time. */
  changedAt: number
}

/** The bucket of a duration. */
const bucketOf = (duration: number): number =>
  duration <= MIN_DURATION_MS
    ? 0
    : Math.min(LATENCY_BUCKETS - 1, 1 + Math.floor(Math.log(duration / MIN_DURATION_MS) / LOG_GROWTH))

/** The duration that a bucket represents. */
const durationOf = (bucket: number): number => (bucket === 0 ? 0 : MIN_DURATION_MS * GROWTH ** (bucket - 0.5))

/** The quantiles of a histogram: the weights of buckets of a {@link LatencyLog}; zeros for an empty one. */
export function histogramQuantiles(histogram: ReadonlyMap<number, number>): {
  p50: number
  p95: number
  p99: number
} {
  const buckets = [...histogram].sort(([a], [b]) => a - b)
  const count = buckets.reduce((sum, [, weight]) => sum + weight, 0)
  const at = (quantile: number): number => {
    let rank = quantile * (count - 1)
    const found = buckets.find(([, weight]) => {
      rank -= weight
      return rank < 0
    })
    return found === undefined ? 0 : Math.round(durationOf(found[0]) * 1000) / 1000
  }
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
}

/**
 * The durations of calls per minute, as histograms that can be merged. Only buckets that are not empty take memory: one number
 * for each minute and bucket, in blocks of an hour.
 */
export class LatencyLog {
  readonly blockLength = HOUR_MS
  private readonly clockReading: ClockReading
  private readonly blocks = new Map<number, LatencyBlock>()

  constructor(reading: ClockReading) {
    this.clockReading = reading
  }

  /** Adds a duration that represents `weight` durations. */
  add(time: number, duration: number, weight: number): void {
    const block = this.block(Math.floor(time / HOUR_MS) * HOUR_MS)
    addEntry(block, Math.floor((time - block.start) / MINUTE_MS), bucketOf(duration), weight)
    block.isDirty = true
    block.changedAt = this.clockReading.now
  }

  /** Visits the weight of each bucket of the minutes that start in [from, to), in no particular order. */
  forEachBucket(
    from: number,
    to: number,
    visit: (minute: number, bucket: number, weight: number) => void,
  ): void {
    for (const { start, entries, size } of this.blocks.values()) {
      if (start + HOUR_MS <= from || start >= to) continue
      for (let i = 0; i < size; i++) {
        const entry = entries[i] as number
        const minute = start + (entry >>> MINUTE_SHIFT) * MINUTE_MS
        if (minute >= from && minute < to)
          visit(minute, (entry >>> BUCKET_SHIFT) % LATENCY_BUCKETS, entry & MAX_WEIGHT)
      }
    }
  }

  /** Deletes blocks that have not changed since a monotonic time. */
  expire(before: number): void {
    for (const { start, changedAt } of this.blocks.values()) if (changedAt < before) this.blocks.delete(start)
  }

  get isEmpty(): boolean {
    return this.blocks.size === 0
  }

  /** The blocks that changed since the last call, as plain data: pairs of bucket and weight by minute. */
  takeChanged(): { start: number; data: Record<string, number[]> }[] {
    const changed: ReturnType<LatencyLog['takeChanged']> = []
    for (const block of this.blocks.values()) {
      if (!block.isDirty) continue
      block.isDirty = false
      const data: Record<string, number[]> = {}
      for (let i = 0; i < block.size; i++) {
        const entry = block.entries[i] as number
        const pairs = (data[entry >>> MINUTE_SHIFT] ??= [])
        pairs.push((entry >>> BUCKET_SHIFT) % LATENCY_BUCKETS, entry & MAX_WEIGHT)
      }
      changed.push({ start: block.start, data })
    }
    return changed
  }

  /** Marks a block as changed, because it could not be saved. */
  markUnsaved(start: number): void {
    const block = this.blocks.get(start)
    if (block !== undefined) block.isDirty = true
  }

  /** Adds a stored block that changed `age` milliseconds ago. Data in another form is ignored. */
  mergeStored(start: number, data: unknown, age: number): void {
    if (typeof data !== 'object' || data === null || start % HOUR_MS !== 0) return
    const block = this.block(start)
    for (const [key, pairs] of Object.entries(data)) {
      const minute = Number(key)
      if (!isIndexBelow(minute, MINUTES) || !Array.isArray(pairs)) continue
      for (let i = 0; i + 1 < pairs.length; i += 2) {
        const [bucket, weight] = [pairs[i] as unknown, pairs[i + 1] as unknown]
        if (isIndexBelow(bucket, LATENCY_BUCKETS) && isIndexBelow(weight, MAX_WEIGHT + 1))
          addEntry(block, minute, bucket, weight)
      }
    }
    block.changedAt = Math.max(block.changedAt, this.clockReading.now - age)
  }

  private block(start: number): LatencyBlock {
    let block = this.blocks.get(start)
    if (block === undefined) {
      block = {
        start,
        entries: new Uint32Array(8),
        size: 0,
        isDirty: false,
        changedAt: Number.NEGATIVE_INFINITY,
      }
      this.blocks.set(start, block)
    }
    return block
  }
}

const isIndexBelow = (value: unknown, limit: number): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) < limit

/**
 * Adds to the entry of a bucket. Only the entries of the current minute are searched, which are the last ones; after a step of
 * the clock backwards a minute can have two entries for a bucket, which readers add up.
 */
function addEntry(block: LatencyBlock, minute: number, bucket: number, weight: number): void {
  const key = ((minute << (MINUTE_SHIFT - BUCKET_SHIFT)) | bucket) >>> 0
  const { entries, size } = block
  for (let i = size - 1; i >= 0 && (entries[i] as number) >>> MINUTE_SHIFT === minute; i--) {
    const entry = entries[i] as number
    if (entry >>> BUCKET_SHIFT !== key || (entry & MAX_WEIGHT) + weight > MAX_WEIGHT) continue
    entries[i] = entry + weight
    return
  }
  if (size === entries.length) {
    block.entries = new Uint32Array(Math.ceil(size * 1.5))
    block.entries.set(entries)
  }
  block.entries[block.size++] = ((key << BUCKET_SHIFT) | weight) >>> 0
}

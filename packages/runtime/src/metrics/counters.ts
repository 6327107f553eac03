import { LabelledValues } from './labelled-values.js'

const BUCKET_BOUNDS_MS: readonly number[] = Object.freeze([
  1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000,
])

/** The number of durations in each bucket, and their sum. */
export interface DurationHistogram {
  /** The upper bounds of the buckets, in milliseconds. */
  readonly bounds: readonly number[]
  /** One count per bucket and a last one for durations above all bounds. Not cumulative. */
  readonly counts: Float64Array
  sum: number
}

const createHistogram = (): DurationHistogram => ({
  bounds: BUCKET_BOUNDS_MS,
  counts: new Float64Array(BUCKET_BOUNDS_MS.length + 1),
  sum: 0,
})

/** Counts a duration that represents `weight` durations. */
export function recordDuration(histogram: DurationHistogram, duration: number, weight: number): void {
  let bucket = 0
  while (bucket < BUCKET_BOUNDS_MS.length && duration > (BUCKET_BOUNDS_MS[bucket] as number)) bucket++
  histogram.counts[bucket] = (histogram.counts[bucket] as number) + weight
  histogram.sum += duration * weight
}

/** The counters of one operation since the process started. They only grow. */
export interface OperationCounters {
  /** Calls that succeeded with their first attempt. */
  succeeded: number
  /** Calls that succeeded after at least one retry. */
  recovered: number
  /** Calls that failed without a retry. */
  failed: number
  /** Calls that failed after at least one retry. */
  exhausted: number
  retries: number
  /** Calls that were rejected before their first attempt, by the stop reason. */
  readonly rejections: Map<string, number>
  /** The durations of calls and of attempts. Those of first-attempt successes are estimated from samples. */
  readonly calls: DurationHistogram
  readonly attempts: DurationHistogram
}

const createOperationCounters = (): OperationCounters => ({
  succeeded: 0,
  recovered: 0,
  failed: 0,
  exhausted: 0,
  retries: 0,
  rejections: new Map(),
  calls: createHistogram(),
  attempts: createHistogram(),
})

/** All counters since the process started, for a scraper that computes differences itself. */
export class MetricsCounters {
  /** At most 200 operations; further ones share `other`. */
  readonly operations = new LabelledValues(createOperationCounters, 200)
  /** State changes of breakers by id and by the new state; at most 500 ids. */
  readonly breakers = new LabelledValues(() => ({ closed: 0, open: 0, half_open: 0 }), 500)
}

import { EventEmitter } from 'node:events'
import { isInstanceOfAnyCopy } from 'holdfast/internal'
import { clearIntervalTimer, startInterval } from '../platform.js'

/** The counts of one part of the statistical window. */
export interface Bucket {
  failures: number
  fallbacks: number
  successes: number
  rejects: number
  fires: number
  timeouts: number
  cacheHits: number
  cacheMisses: number
  semaphoreRejections: number
  percentiles: Record<number, number>
  latencyTimes: number[]
  // Always present, but not in the declarations of opossum: values that a program creates do not have them.
  coalesceCacheHits?: number
  coalesceCacheMisses?: number
  isCircuitBreakerOpen?: boolean
}

/** The sums of a window. */
export interface Stats extends Bucket {
  latencyMean: number
}

export interface StatusOptions {
  /** The number of buckets of the window. @defaultValue 10 */
  rollingCountBuckets?: number | undefined
  /** The duration of the window in milliseconds. @defaultValue 10000 */
  rollingCountTimeout?: number | undefined
  /** Whether percentiles are computed; they are -1 otherwise. @defaultValue true */
  rollingPercentilesEnabled?: boolean | undefined
  /** Whether `snapshot` is emitted with each bucket. @defaultValue true */
  enableSnapshots?: boolean | undefined
  /** Starts a new bucket with each `rotate` event, instead of a timer. */
  rotateBucketController?: EventEmitter | undefined
  /** Counts to begin with. */
  stats?: Partial<Stats> | undefined
}

/** The property of a bucket that counts events. */
export type Count = (typeof COUNTS)[number]

const COUNTS = [
  'failures',
  'fallbacks',
  'successes',
  'rejects',
  'fires',
  'timeouts',
  'cacheHits',
  'cacheMisses',
  'coalesceCacheHits',
  'coalesceCacheMisses',
  'semaphoreRejections',
] as const satisfies readonly (keyof Bucket)[]

const PERCENTILES = [0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 1]

/** The counts whose events have a latency. */
const TIMED_COUNTS: ReadonlySet<Count> = new Set(['successes', 'failures', 'timeouts'])

const createBucket = (): Bucket => ({
  failures: 0,
  fallbacks: 0,
  successes: 0,
  rejects: 0,
  fires: 0,
  timeouts: 0,
  cacheHits: 0,
  cacheMisses: 0,
  coalesceCacheHits: 0,
  coalesceCacheMisses: 0,
  semaphoreRejections: 0,
  percentiles: {},
  latencyTimes: [],
})

/**
 * The rolling statistics of a circuit. They are the public API of opossum, so they are not the window of the engine's breaker,
 * which counts failures only.
 */
export class Status extends EventEmitter {
  /** Makes `instanceof` true for statistics of another copy of the package, such as its CommonJS form. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return isInstanceOfAnyCopy(this, 'statusVersion', value)
  }

  /** @internal The version of the members, which can be that of another copy of this package. */
  get statusVersion(): number {
    return 1
  }

  rollingPercentilesEnabled: boolean
  enableSnapshots: boolean
  rotateBucketController: EventEmitter | undefined
  private readonly buckets: [Bucket, ...Bucket[]]
  private readonly bucketTimer: unknown
  private readonly snapshotTimer: unknown
  /** Starts a new bucket and drops the oldest. */
  readonly rotateBucket = (): void => {
    this.buckets.pop()
    this.buckets.unshift(createBucket())
  }

  constructor(options: StatusOptions) {
    super()
    const length = options.rollingCountBuckets || 10
    this.buckets = Array.from({ length }, createBucket) as [Bucket]
    this.rollingPercentilesEnabled = options.rollingPercentilesEnabled !== false
    this.enableSnapshots = options.enableSnapshots !== false
    this.rotateBucketController = options.rotateBucketController
    const interval = Math.floor((options.rollingCountTimeout || 10_000) / length)
    if (this.rotateBucketController) this.startListeneningForRotateEvent()
    else this.bucketTimer = startInterval(this.rotateBucket, interval)
    if (this.enableSnapshots)
      this.snapshotTimer = startInterval(() => this.emit('snapshot', this.stats), interval)
    if (options.stats) this.buckets[0] = { ...createBucket(), ...options.stats }
  }

  /** Subscribes to the sums of the window, which are emitted with each bucket. */
  override on(event: 'snapshot', listener: (snapshot: Stats) => void): this {
    return super.on(event, listener)
  }

  /** The sums of the window. */
  get stats(): Stats {
    const totals: Stats = { ...createBucket(), latencyMean: -1 }
    for (const bucket of this.buckets) {
      for (const count of COUNTS) totals[count] = (totals[count] || 0) + (bucket[count] || 0)
      if (this.rollingPercentilesEnabled) totals.latencyTimes.push(...(bucket.latencyTimes ?? []))
    }
    const { latencyTimes, percentiles } = totals
    latencyTimes.sort((a, b) => a - b)
    for (const percentile of PERCENTILES)
      percentiles[percentile] = this.rollingPercentilesEnabled ? percentileOf(latencyTimes, percentile) : -1
    if (this.rollingPercentilesEnabled)
      totals.latencyMean = latencyTimes.reduce((sum, ms) => sum + ms, 0) / (latencyTimes.length || 1)
    return totals
  }

  /** The buckets, the newest first. */
  get window(): Bucket[] {
    return this.buckets.slice()
  }

  increment(property: Count, latency?: number): void {
    const [current] = this.buckets
    current[property] = (current[property] || 0) + 1
    if (TIMED_COUNTS.has(property)) current.latencyTimes.push(latency || 0)
  }

  open(): void {
    this.buckets[0].isCircuitBreakerOpen = true
  }

  close(): void {
    this.buckets[0].isCircuitBreakerOpen = false
  }

  shutdown(): void {
    this.removeAllListeners()
    this.removeRotateBucketControllerListener()
    clearIntervalTimer(this.bucketTimer)
    clearIntervalTimer(this.snapshotTimer)
  }

  removeRotateBucketControllerListener(): void {
    this.rotateBucketController?.removeListener('rotate', this.rotateBucket)
  }

  // cspell:disable-next-line: the name is that of opossum
  startListeneningForRotateEvent(): void {
    const { rotateBucketController } = this
    if (rotateBucketController?.listenerCount('rotate', this.rotateBucket) === 0)
      rotateBucketController.on('rotate', this.rotateBucket)
  }
}

const percentileOf = (sorted: readonly number[], percentile: number): number =>
  sorted[Math.max(0, Math.ceil(percentile * sorted.length) - 1)] || 0

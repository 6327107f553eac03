import {
  HOUR_MS,
  type MetricsByMember,
  type MetricsSeries,
  type MetricsSummary,
  type MetricsWindow,
  MINUTE_MS,
} from '@holdfast/records'
import type { MetricsStore } from '@holdfast/store'
import type { Clock } from 'holdfast'
import { AttemptRing } from './attempt-ring.js'
import { MetricsCounters } from './counters.js'
import { OperationRecorder } from './operation-recorder.js'
import {
  checkQuery,
  checkWindow,
  queryMembers,
  querySeries,
  querySummary,
  queryWindow,
  windowStart,
} from './queries.js'
import { MEMBER_FIELDS, SeriesRegistry, TOTAL_FIELDS } from './series-registry.js'
import type { ClockReading } from './time-series.js'

/** How much is kept. */
export interface MetricsOptions {
  /** How long counters are kept, in hours. @defaultValue 24 */
  retentionHours?: number | undefined
  /** How many attempts are kept one by one, for the latency of short windows. @defaultValue 10000 */
  maxCurrentAttempts?: number | undefined
}

const DEFAULTS = Object.freeze({ retentionHours: 24, maxCurrentAttempts: 10_000 })

/** A change of a breaker, as far as it is counted. */
interface BreakerStateChange {
  readonly id: string
  readonly toState: 'closed' | 'open' | 'half_open'
}

/**
 * Counts what happens to calls: by the minute for all of them, each policy and each subsystem, by the hour for each member of
 * a pool. Nothing here waits for a store; counters are written now and then, and read back at the start.
 */
export class Metrics {
  /** What this process counted. */
  readonly ownSeries: SeriesRegistry
  /** What was counted since the process began. */
  readonly totals = new MetricsCounters()
  /** The minute that counts now, by the wall clock, and its end in monotonic time. */
  minute = 0
  minuteEndsAt = Number.NEGATIVE_INFINITY
  /** The lines that counted something since they were last settled. */
  activeRecorders: OperationRecorder[] = []
  private otherSeries: SeriesRegistry | undefined = undefined
  private readonly clockReading: ClockReading = { now: 0 }
  private readonly clock: Clock
  private readonly attemptRing: AttemptRing
  private options: Required<{ [K in keyof MetricsOptions]: number }>
  private readonly startedAt: { readonly now: number; readonly wall: number }
  private isLoaded = false
  private nextExpiry = Number.NEGATIVE_INFINITY
  private currentSave: Promise<void> = Promise.resolve()

  constructor(clock: Clock, options: MetricsOptions = {}) {
    this.clock = clock
    this.options = withDefaults(options)
    this.ownSeries = new SeriesRegistry(this.clockReading)
    this.attemptRing = new AttemptRing(this.options.maxCurrentAttempts)
    this.startedAt = { now: clock.now(), wall: clock.wall() }
    this.tick()
  }

  /** Takes other options, of a file that changed. */
  configure(options: MetricsOptions): void {
    this.options = withDefaults(options)
    this.attemptRing.resize(this.options.maxCurrentAttempts)
  }

  /** The counters for calls of one operation. Whoever calls keeps it; two of the same add up. */
  recorderFor(policyId: string, subsystem?: string, operation = policyId): OperationRecorder {
    return new OperationRecorder(this, policyId, subsystem, operation)
  }

  /** An attempt at a pool's member ended. `duration` is left out where it never began. */
  recordMemberAttempt(pool: string, id: string, ok: boolean, duration: number | undefined): void {
    this.tick()
    const series = this.ownSeries.members.get(`${encodeURIComponent(pool)}:${encodeURIComponent(id)}`)
    series.add(this.minute, MEMBER_FIELDS.attempts, 1)
    if (ok) series.add(this.minute, MEMBER_FIELDS.successes, 1)
    if (duration === undefined) return
    series.add(this.minute, MEMBER_FIELDS.time, duration)
    series.add(this.minute, MEMBER_FIELDS.timed, 1)
  }

  /** A breaker changed its state. */
  recordBreakerChange({ id, toState }: BreakerStateChange): void {
    this.tick()
    this.addToTotal(TOTAL_FIELDS.breakerChanges, 1)
    this.totals.breakers.get(id)[toState]++
    // Its id is `pool:` and the name under which the member is counted.
    if (toState === 'open' && id.startsWith('pool:'))
      this.ownSeries.members.get(id.slice('pool:'.length)).add(this.minute, MEMBER_FIELDS.opens, 1)
  }

  /** Retries and successes of everything that is kept. */
  summary(): MetricsSummary {
    return querySummary(this.seriesRegistries(), this.options.retentionHours)
  }

  /**
   * One point for each hour, or day, in which calls ended, oldest first; hours beyond what is kept have none.
   * @throws INVALID_OPTIONS where `hours` is no whole number from 1 on
   */
  timeseries(options: { hours?: number | undefined; step?: 'hour' | 'day' | undefined } = {}): MetricsSeries {
    checkQuery(options, ['hours', 'step'])
    const { hours = 24, step = 'hour' } = options
    return querySeries(this.seriesRegistries(), windowStart(this.clock.wall(), hours), step)
  }

  /** How each member did in the last hours. @throws INVALID_OPTIONS where `hours` is no whole number from 1 on */
  byMember(options: { hours?: number | undefined } = {}): MetricsByMember {
    checkQuery(options, ['hours'])
    const { hours = 24 } = options
    const from = windowStart(this.clock.wall(), hours)
    return queryMembers(this.seriesRegistries(), Math.floor(from / HOUR_MS) * HOUR_MS)
  }

  /** Everything counted between two times. @throws INVALID_OPTIONS where they are none, or the wrong way round */
  window(range: { from: Date; to: Date }): MetricsWindow {
    return queryWindow(this.seriesRegistries(), this.attemptRing, checkWindow(range))
  }

  /** What was counted since the process began: these numbers only grow. */
  counters(): MetricsCounters {
    this.flushRecorders()
    return this.totals
  }

  /** Writes what changed since it was last written. What a store refuses is written the next time. */
  save(store: MetricsStore, node: string): Promise<void> {
    const write = async () => {
      this.flushRecorders()
      const rows = this.ownSeries.takeChanged(node)
      if (rows.length === 0) return
      try {
        await store.save(rows)
      } catch (error) {
        this.ownSeries.markUnsaved(rows)
        throw error
      }
      if (this.clock.now() < this.nextExpiry) return
      this.nextExpiry = this.clock.now() + HOUR_MS
      await store.expire(this.retainedSince())
    }
    this.currentSave = this.currentSave.then(write, write)
    return this.currentSave
  }

  /**
   * Reads what was written: what others counted, and the first time what this node counted before. Reading again brings what
   * others counted since.
   */
  async load(store: MetricsStore, node: string): Promise<void> {
    const rows = await store.load({ from: this.retainedSince(), to: Number.MAX_SAFE_INTEGER })
    const others = new SeriesRegistry(this.clockReading)
    const wall = this.clock.wall()
    let any = false
    this.tick()
    for (const row of rows) {
      if (row.node !== node) {
        others.mergeStored(row, wall)
        any = true
      } else if (!this.isLoaded) {
        this.ownSeries.mergeStored(row, wall)
        this.attemptRing.markIncomplete(this.startedAt.wall)
      }
    }
    this.isLoaded = true
    this.otherSeries = any ? others : undefined
  }

  /** Begins another minute where one is due, and tells what time it is. @internal */
  tick(): number {
    const now = this.clock.now()
    if (now >= this.minuteEndsAt) {
      this.flushRecordersAt(this.clockReading.now)
      const wall = this.clock.wall()
      const hour = Math.floor(this.minute / HOUR_MS)
      this.minute = Math.floor(wall / MINUTE_MS) * MINUTE_MS
      this.minuteEndsAt = now + this.minute + MINUTE_MS - wall
      if (Math.floor(this.minute / HOUR_MS) !== hour) this.expire(now)
    }
    this.clockReading.now = now
    return now
  }

  /** @internal */
  addToTotal(field: number, amount: number): void {
    this.ownSeries.total.add(this.minute, field, amount)
  }

  /** @internal */
  recordFailure(kind: string): void {
    this.ownSeries.kinds.get(kind).add(this.minute, 0, 1)
  }

  /** @internal */
  recordSuccess(attempts: number, count: number): void {
    this.ownSeries.successes.get(String(attempts)).add(this.minute, 0, count)
  }

  /** An attempt took so long. @internal */
  recordLatency(duration: number, weight: number): void {
    this.ownSeries.latencies.add(this.minute, duration, weight)
    this.attemptRing.add(
      this.minute + MINUTE_MS - (this.minuteEndsAt - this.clockReading.now),
      duration,
      weight,
    )
  }

  private flushRecorders(): void {
    this.flushRecordersAt(this.tick())
  }

  private flushRecordersAt(now: number): void {
    this.clockReading.now = now
    const { activeRecorders } = this
    this.activeRecorders = []
    for (const line of activeRecorders) line.flushCounts()
  }

  private expire(now: number): void {
    const before = now - this.options.retentionHours * HOUR_MS
    this.ownSeries.expire(before)
    this.otherSeries?.expire(before)
  }

  private seriesRegistries(): readonly SeriesRegistry[] {
    this.flushRecorders()
    this.expire(this.clockReading.now)
    return this.otherSeries === undefined ? [this.ownSeries] : [this.ownSeries, this.otherSeries]
  }

  /** What began before this, by the wall clock, is not kept; a clock that was set forward makes nothing old. */
  private retainedSince(): number {
    const { now, wall } = this.startedAt
    const passed = wall + (this.clock.now() - now)
    // Stores count in whole milliseconds.
    return Math.floor(Math.min(passed, this.clock.wall())) - (this.options.retentionHours + 24) * HOUR_MS
  }
}

const withDefaults = (options: MetricsOptions) => ({
  retentionHours: options.retentionHours ?? DEFAULTS.retentionHours,
  maxCurrentAttempts: options.maxCurrentAttempts ?? DEFAULTS.maxCurrentAttempts,
})

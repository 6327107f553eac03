import { CONFIG_DEFAULTS } from '@holdfast/config'
import {
  HOUR_MS,
  type MetricsByMember,
  type MetricsByOperation,
  type MetricsSeries,
  type MetricsSummary,
  type MetricsWindow,
  MINUTE_MS,
} from '@holdfast/records'
import type { MetricsStore } from '@holdfast/store'
import type { Clock } from 'holdfast'
import { AttemptRing } from './attempt-ring.js'
import { MetricsCounters } from './counters.js'
import { checkOperationsQuery, type OperationsQuery, queryOperations } from './operation-queries.js'
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

/** The retention options of metrics. */
export interface MetricsOptions {
  /** How long counters are kept, in hours. @defaultValue 24 */
  retentionHours?: number | undefined
  /** The number of recent attempts that are kept individually, for the latency of short windows. @defaultValue 10000 */
  maxCurrentAttempts?: number | undefined
}

const DEFAULTS = CONFIG_DEFAULTS.metrics

/** The counted fields of a breaker's state change. */
interface BreakerStateChange {
  readonly id: string
  readonly toState: 'closed' | 'open' | 'half_open'
}

/**
 * Counts calls: per minute in total, per policy, subsystem and operation, and per hour for each pool member. Nothing here waits
 * for a store; counters are saved periodically and loaded at the start.
 */
export class Metrics {
  /** The counters of this process. */
  readonly ownSeries: SeriesRegistry
  /** The counters since the process started. */
  readonly totals = new MetricsCounters()
  /** The current minute by the wall clock, and its end in monotonic time. */
  minute = 0
  minuteEndsAt = Number.NEGATIVE_INFINITY
  /** The recorders with counts that have not been flushed. */
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

  /** Applies new options after a reload. */
  configure(options: MetricsOptions): void {
    this.options = withDefaults(options)
    this.attemptRing.resize(this.options.maxCurrentAttempts)
  }

  /** Creates the counters for calls of one operation. The caller keeps them; two recorders of the same operation add up. */
  recorderFor(
    policyId: string,
    subsystem?: string,
    operation = policyId,
    breakers: readonly string[] = [],
  ): OperationRecorder {
    return new OperationRecorder(this, { policyId, subsystem, operation, breakers })
  }

  /** An attempt on a pool member ended. `duration` is undefined where the attempt never started. */
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
    // The id is `pool:` and the name under which the member is counted.
    if (toState === 'open' && id.startsWith('pool:'))
      this.ownSeries.members.get(id.slice('pool:'.length)).add(this.minute, MEMBER_FIELDS.opens, 1)
  }

  /** The retries and successes within the retention time. */
  summary(): MetricsSummary {
    return querySummary(this.seriesRegistries(), this.options.retentionHours)
  }

  /**
   * One point for each hour or day in which calls ended, oldest first. Hours beyond the retention time have no points.
   * @throws INVALID_OPTIONS where `hours` is not a positive integer
   */
  timeseries(options: { hours?: number | undefined; step?: 'hour' | 'day' | undefined } = {}): MetricsSeries {
    checkQuery(options, ['hours', 'step'])
    const { hours = 24, step = 'hour' } = options
    return querySeries(this.seriesRegistries(), windowStart(this.clock.wall(), hours), step)
  }

  /** The metrics of each pool member in the last hours. @throws INVALID_OPTIONS where `hours` is not a positive integer */
  async byMember(options: { hours?: number | undefined } = {}): Promise<MetricsByMember> {
    checkQuery(options, ['hours'])
    const { hours = 24 } = options
    const from = windowStart(this.clock.wall(), hours)
    return queryMembers(this.seriesRegistries(), Math.floor(from / HOUR_MS) * HOUR_MS)
  }

  /** All metrics between two times. @throws INVALID_OPTIONS where a time is not valid or `to` is before `from` */
  window(range: { from: Date; to: Date }): MetricsWindow {
    return queryWindow(this.seriesRegistries(), this.attemptRing, checkWindow(range))
  }

  /**
   * The calls of each operation between two times, in total and by step. @throws INVALID_OPTIONS where a time is not valid,
   * `to` is before `from`, `step` is not a multiple of a minute, or the result would have too many points
   */
  async operations(options: OperationsQuery): Promise<MetricsByOperation> {
    return queryOperations(this.seriesRegistries(), checkOperationsQuery(options))
  }

  /** The counters since the process started. */
  counters(): MetricsCounters {
    this.flushRecorders()
    return this.totals
  }

  /** Saves the counters that changed since the last save. Counters that the store rejects are saved the next time. */
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
   * Loads stored counters: those of other nodes, and the first time those of this node. Loading again updates the counters
   * of other nodes.
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

  /** Starts the next minute if it is due, and returns the monotonic time. @internal */
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

  /** Records the duration of an attempt. @internal */
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
    for (const recorder of activeRecorders) recorder.flushCounts()
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

  /** Data before this wall-clock time is expired. A step of the wall clock forwards does not expire data. */
  private retainedSince(): number {
    const { now, wall } = this.startedAt
    const passed = wall + (this.clock.now() - now)
    // Stores take whole milliseconds.
    return Math.floor(Math.min(passed, this.clock.wall())) - (this.options.retentionHours + 24) * HOUR_MS
  }
}

const withDefaults = (options: MetricsOptions) => ({
  retentionHours: options.retentionHours ?? DEFAULTS.retentionHours,
  maxCurrentAttempts: options.maxCurrentAttempts ?? DEFAULTS.maxCurrentAttempts,
})

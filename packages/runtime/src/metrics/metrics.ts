import type { Clock } from 'holdfast'
import type { MetricsByMember, MetricsSeries, MetricsSummary, MetricsWindow } from '../records/metrics.js'
import type { MetricsStore } from '../store/store.js'
import { Counters } from './counters.js'
import { Ledger, MEMBER, TOTAL } from './ledger.js'
import { Line } from './line.js'
import { checkAsked, checkWindow, membersOf, seriesOf, since, summaryOf, windowOf } from './queries.js'
import { Recent } from './recent.js'
import { HOUR, MINUTE, type Reading } from './series.js'

/** How much is kept. */
export interface MetricsOptions {
  /** How long counters are kept, in hours. @defaultValue 24 */
  retentionHours?: number | undefined
  /** How many attempts are kept one by one, for the latency of short windows. @defaultValue 10000 */
  maxCurrentAttempts?: number | undefined
}

const DEFAULTS = Object.freeze({ retentionHours: 24, maxCurrentAttempts: 10_000 })

/** A change of a breaker, as far as it is counted. */
interface BreakerChange {
  readonly id: string
  readonly toState: 'closed' | 'open' | 'half_open'
}

/**
 * Counts what happens to calls: by the minute for all of them, each policy and each subsystem, by the hour for each member of
 * a pool. Nothing here waits for a store; counters are written now and then, and read back at the start.
 */
export class Metrics {
  /** What this process counted. */
  readonly own: Ledger
  /** What was counted since the process began. */
  readonly totals = new Counters()
  /** The minute that counts now, by the wall clock, and its end in monotonic time. */
  minute = 0
  minuteEnd = Number.NEGATIVE_INFINITY
  /** The lines that counted something since they were last settled. */
  active: Line[] = []
  private others: Ledger | undefined = undefined
  private readonly reading: Reading = { now: 0 }
  private readonly clock: Clock
  private readonly recent: Recent
  private options: Required<{ [K in keyof MetricsOptions]: number }>
  private readonly began: { readonly now: number; readonly wall: number }
  private loaded = false
  private nextExpiry = Number.NEGATIVE_INFINITY
  private saving: Promise<void> = Promise.resolve()

  constructor(clock: Clock, options: MetricsOptions = {}) {
    this.clock = clock
    this.options = settings(options)
    this.own = new Ledger(this.reading)
    this.recent = new Recent(this.options.maxCurrentAttempts)
    this.began = { now: clock.now(), wall: clock.wall() }
    this.tick()
  }

  /** Takes other options, of a file that changed. */
  configure(options: MetricsOptions): void {
    this.options = settings(options)
    this.recent.resize(this.options.maxCurrentAttempts)
  }

  /** The counters for calls of one operation. Whoever calls keeps it; two of the same add up. */
  line(policyId: string, subsystem?: string, operation = policyId): Line {
    return new Line(this, policyId, subsystem, operation)
  }

  /** An attempt at a pool's member ended. `duration` is left out where it never began. */
  member(pool: string, id: string, ok: boolean, duration: number | undefined): void {
    this.tick()
    const series = this.own.members.get(`${encodeURIComponent(pool)}:${encodeURIComponent(id)}`)
    series.add(this.minute, MEMBER.attempts, 1)
    if (ok) series.add(this.minute, MEMBER.successes, 1)
    if (duration === undefined) return
    series.add(this.minute, MEMBER.time, duration)
    series.add(this.minute, MEMBER.timed, 1)
  }

  /** A breaker changed its state. */
  breakerChanged({ id, toState }: BreakerChange): void {
    this.tick()
    this.count(TOTAL.breakerChanges, 1)
    this.totals.breakers.get(id)[toState]++
    // Its id is `pool:` and the name under which the member is counted.
    if (toState === 'open' && id.startsWith('pool:'))
      this.own.members.get(id.slice('pool:'.length)).add(this.minute, MEMBER.opens, 1)
  }

  /** Retries and successes of everything that is kept. */
  summary(): MetricsSummary {
    return summaryOf(this.ledgers(), this.options.retentionHours)
  }

  /**
   * One point for each hour, or day, in which calls ended, oldest first; hours beyond what is kept have none.
   * @throws INVALID_OPTIONS where `hours` is no whole number from 1 on
   */
  timeseries(asked: { hours?: number | undefined; step?: 'hour' | 'day' | undefined } = {}): MetricsSeries {
    checkAsked(asked, ['hours', 'step'])
    const { hours = 24, step = 'hour' } = asked
    return seriesOf(this.ledgers(), since(this.clock.wall(), hours), step)
  }

  /** How each member did in the last hours. @throws INVALID_OPTIONS where `hours` is no whole number from 1 on */
  byMember(asked: { hours?: number | undefined } = {}): MetricsByMember {
    checkAsked(asked, ['hours'])
    const { hours = 24 } = asked
    const from = since(this.clock.wall(), hours)
    return membersOf(this.ledgers(), Math.floor(from / HOUR) * HOUR)
  }

  /** Everything counted between two times. @throws INVALID_OPTIONS where they are none, or the wrong way round */
  window(range: { from: Date; to: Date }): MetricsWindow {
    return windowOf(this.ledgers(), this.recent, checkWindow(range))
  }

  /** What was counted since the process began: these numbers only grow. */
  counters(): Counters {
    this.settle()
    return this.totals
  }

  /** Writes what changed since it was last written. What a store refuses is written the next time. */
  save(store: MetricsStore, node: string): Promise<void> {
    const write = async () => {
      this.settle()
      const rows = this.own.changed(node)
      if (rows.length === 0) return
      try {
        await store.save(rows)
      } catch (error) {
        this.own.unsaved(rows)
        throw error
      }
      if (this.clock.now() < this.nextExpiry) return
      this.nextExpiry = this.clock.now() + HOUR
      await store.expire(this.horizon())
    }
    this.saving = this.saving.then(write, write)
    return this.saving
  }

  /**
   * Reads what was written: what others counted, and the first time what this node counted before. Reading again brings what
   * others counted since.
   */
  async load(store: MetricsStore, node: string): Promise<void> {
    const rows = await store.load({ from: this.horizon(), to: Number.MAX_SAFE_INTEGER })
    const others = new Ledger(this.reading)
    const wall = this.clock.wall()
    let any = false
    this.tick()
    for (const row of rows) {
      if (row.node !== node) {
        others.absorb(row, wall)
        any = true
      } else if (!this.loaded) {
        this.own.absorb(row, wall)
        this.recent.lacks(this.began.wall)
      }
    }
    this.loaded = true
    this.others = any ? others : undefined
  }

  /** Begins another minute where one is due, and tells what time it is. @internal */
  tick(): number {
    const now = this.clock.now()
    if (now >= this.minuteEnd) {
      this.settleAt(this.reading.now)
      const wall = this.clock.wall()
      const hour = Math.floor(this.minute / HOUR)
      this.minute = Math.floor(wall / MINUTE) * MINUTE
      this.minuteEnd = now + this.minute + MINUTE - wall
      if (Math.floor(this.minute / HOUR) !== hour) this.expire(now)
    }
    this.reading.now = now
    return now
  }

  /** @internal */
  count(field: number, amount: number): void {
    this.own.total.add(this.minute, field, amount)
  }

  /** @internal */
  failed(kind: string): void {
    this.own.kinds.get(kind).add(this.minute, 0, 1)
  }

  /** @internal */
  succeeded(attempts: number, count: number): void {
    this.own.successes.get(String(attempts)).add(this.minute, 0, count)
  }

  /** An attempt took so long. @internal */
  took(duration: number, weight: number): void {
    this.own.latencies.add(this.minute, duration, weight)
    this.recent.add(this.minute + MINUTE - (this.minuteEnd - this.reading.now), duration, weight)
  }

  private settle(): void {
    this.settleAt(this.tick())
  }

  private settleAt(now: number): void {
    this.reading.now = now
    const { active } = this
    this.active = []
    for (const line of active) line.settle()
  }

  private expire(now: number): void {
    const before = now - this.options.retentionHours * HOUR
    this.own.expire(before)
    this.others?.expire(before)
  }

  private ledgers(): readonly Ledger[] {
    this.settle()
    this.expire(this.reading.now)
    return this.others === undefined ? [this.own] : [this.own, this.others]
  }

  /** What began before this, by the wall clock, is not kept; a clock that was set forward makes nothing old. */
  private horizon(): number {
    const { now, wall } = this.began
    const passed = wall + (this.clock.now() - now)
    // Stores count in whole milliseconds.
    return Math.floor(Math.min(passed, this.clock.wall())) - (this.options.retentionHours + 24) * HOUR
  }
}

const settings = (options: MetricsOptions) => ({
  retentionHours: options.retentionHours ?? DEFAULTS.retentionHours,
  maxCurrentAttempts: options.maxCurrentAttempts ?? DEFAULTS.maxCurrentAttempts,
})

import type { MetricsRow } from '../store/store.js'
import { Labels } from './labels.js'
import { Latencies } from './latencies.js'
import { HOUR, MINUTE, type Reading, Series, type Shape } from './series.js'

/** The numbers of a minute of all calls. */
export const TOTAL = {
  sessions: 0,
  successes: 1,
  attempts: 2,
  retries: 3,
  most: 4,
  callTime: 5,
  attemptTime: 6,
  timedAttempts: 7,
  breakerChanges: 8,
} as const

/** The numbers of a minute of a policy or a subsystem. */
export const PART = { sessions: 0, successes: 1, attempts: 2 } as const

/** The numbers of an hour of a pool's member. */
export const MEMBER = { attempts: 0, successes: 1, time: 2, timed: 3, opens: 4 } as const

const TOTALS: Shape = { step: MINUTE, slots: 60, fields: 9, max: TOTAL.most }
const PARTS: Shape = { step: MINUTE, slots: 60, fields: 3, whole: true }
const COUNTS: Shape = { step: MINUTE, slots: 60, fields: 1, whole: true }
const MEMBERS: Shape = { step: HOUR, slots: 24, fields: 5 }

/** Counters over time: this process's own, or those that others wrote. */
export class Ledger {
  readonly total: Series
  readonly policies: Labels<Series>
  readonly subsystems: Labels<Series>
  /** Failed attempts by kind. */
  readonly kinds: Labels<Series>
  /** Successful calls by the number of their last attempt. */
  readonly successes: Labels<Series>
  /** By `POOL:ID`, both encoded. */
  readonly members: Labels<Series>
  readonly latencies: Latencies

  constructor(reading: Reading) {
    this.total = new Series(TOTALS, reading)
    this.policies = new Labels(() => new Series(PARTS, reading), 250)
    this.subsystems = new Labels(() => new Series(PARTS, reading), 100)
    this.kinds = new Labels(() => new Series(COUNTS, reading), 40)
    this.successes = new Labels(() => new Series(COUNTS, reading), 40)
    this.members = new Labels(() => new Series(MEMBERS, reading), 10_000)
    this.latencies = new Latencies(reading)
  }

  /** Every series with the name it is stored under. */
  *named(): Iterable<readonly [name: string, series: Series]> {
    yield ['minute:total', this.total]
    for (const [prefix, labels] of this.groups())
      for (const [label, series] of labels) yield [`${prefix}${label}`, series]
  }

  /** What changed since the last time, to be written. */
  changed(node: string): MetricsRow[] {
    const rows: MetricsRow[] = []
    for (const [name, series] of this.named())
      for (const { start, data } of series.changed()) rows.push({ series: name, start, node, data })
    for (const { start, data } of this.latencies.changed())
      rows.push({ series: 'hour:sketch', start, node, data })
    return rows
  }

  /** Says that rows have not been written after all. */
  unsaved(rows: readonly MetricsRow[]): void {
    for (const { series, start } of rows)
      if (series === 'hour:sketch') this.latencies.unsaved(start)
      else this.find(series)?.unsaved(start)
  }

  /** Adds a row that was written, by whomever, `now` being the time by the wall clock. */
  absorb({ series, start, data }: MetricsRow, now: number): void {
    if (!Number.isSafeInteger(start)) return
    const held = series === 'hour:sketch' ? this.latencies : this.find(series)
    const { step, slots } = held instanceof Series ? held.shape : { step: HOUR, slots: 1 }
    held?.absorb(start, data, Math.max(0, now - start - step * slots))
  }

  /** Lets go of what has not changed since a monotonic time. */
  expire(before: number): void {
    for (const [, series] of this.named()) series.expire(before)
    for (const [, labels] of this.groups()) labels.prune((series) => series.empty)
    this.latencies.expire(before)
  }

  private groups() {
    return [
      ['minute:policy:', this.policies],
      ['minute:subsystem:', this.subsystems],
      ['minute:kind:', this.kinds],
      ['minute:success:', this.successes],
      ['hour:member:', this.members],
    ] as const
  }

  private find(name: string): Series | undefined {
    if (name === 'minute:total') return this.total
    for (const [prefix, labels] of this.groups())
      if (name.startsWith(prefix)) return labels.get(name.slice(prefix.length))
    return undefined
  }
}

import { HOUR_MS, MINUTE_MS } from '@holdfast/records'
import type { MetricsRow } from '@holdfast/store'
import { LabelledValues } from './labelled-values.js'
import { LatencyLog } from './latency-log.js'
import { LatencySketches } from './latency-sketches.js'
import { type ClockReading, type SeriesShape, TimeSeries } from './time-series.js'

/** The fields of a minute of all calls. */
export const TOTAL_FIELDS = {
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

/** The fields of a minute of a policy or subsystem. */
export const LABEL_FIELDS = { sessions: 0, successes: 1, attempts: 2 } as const

/** The fields of a minute of an operation. */
export const OPERATION_FIELDS = { calls: 0, successes: 1, retries: 2, rejections: 3 } as const

/** How many operations have their own counters; the others are counted as `other`. */
export const MAX_OPERATIONS = 500

/** The fields of an hour of a pool member. */
export const MEMBER_FIELDS = { attempts: 0, successes: 1, time: 2, timed: 3, opens: 4 } as const

const TOTAL_SHAPE: SeriesShape = { step: MINUTE_MS, slots: 60, fields: 9, max: TOTAL_FIELDS.most }
const LABEL_SHAPE: SeriesShape = { step: MINUTE_MS, slots: 60, fields: 3, isInteger: true }
const COUNT_SHAPE: SeriesShape = { step: MINUTE_MS, slots: 60, fields: 1, isInteger: true }
const OPERATION_SHAPE: SeriesShape = { step: MINUTE_MS, slots: 60, fields: 4, isInteger: true }
const OPERATION_BREAKER_SHAPE: SeriesShape = { step: HOUR_MS, slots: 24, fields: 1, isInteger: true }
const MEMBER_SHAPE: SeriesShape = { step: HOUR_MS, slots: 24, fields: 5 }

/** A series in blocks that are saved and loaded separately. */
interface StoredSeries
  extends Pick<TimeSeries, 'blockLength' | 'isEmpty' | 'expire' | 'markUnsaved' | 'mergeStored'> {
  takeChanged(): { start: number; data: unknown }[]
}

/** The label of an operation and a breaker that its calls must pass. */
export const operationBreakerLabel = (operation: string, breaker: string): string =>
  `${encodeURIComponent(operation)} ${breaker}`

/** The operation and the breaker of a label. */
export function parseOperationBreaker(label: string): { operation: string; breaker: string } | undefined {
  const [operation = '', breaker] = label.split(' ')
  try {
    return breaker === undefined ? undefined : { operation: decodeURIComponent(operation), breaker }
  } catch {
    return undefined // A row of a store that was changed.
  }
}

/** Counters over time: those of this process, or those that other nodes stored. */
export class SeriesRegistry {
  readonly total: TimeSeries
  readonly policies: LabelledValues<TimeSeries>
  readonly subsystems: LabelledValues<TimeSeries>
  /** Failed attempts by kind. */
  readonly kinds: LabelledValues<TimeSeries>
  /** Successful calls by the number of their last attempt. */
  readonly successes: LabelledValues<TimeSeries>
  readonly operations: LabelledValues<TimeSeries>
  /** The durations of calls, by the labels of `operations`. */
  readonly operationLatencies: LabelledValues<LatencyLog>
  /** Calls by operation and breaker. The breakers of the members of a pool are counted together, as `pool:POOL`. */
  readonly operationBreakers: LabelledValues<TimeSeries>
  /** By `POOL:ID`, both percent-encoded. */
  readonly members: LabelledValues<TimeSeries>
  readonly latencies: LatencySketches

  constructor(reading: ClockReading) {
    this.total = new TimeSeries(TOTAL_SHAPE, reading)
    this.policies = new LabelledValues(() => new TimeSeries(LABEL_SHAPE, reading), 250)
    this.subsystems = new LabelledValues(() => new TimeSeries(LABEL_SHAPE, reading), 100)
    this.kinds = new LabelledValues(() => new TimeSeries(COUNT_SHAPE, reading), 40)
    this.successes = new LabelledValues(() => new TimeSeries(COUNT_SHAPE, reading), 40)
    this.operations = new LabelledValues(() => new TimeSeries(OPERATION_SHAPE, reading), MAX_OPERATIONS)
    this.operationLatencies = new LabelledValues(() => new LatencyLog(reading), MAX_OPERATIONS + 1)
    this.operationBreakers = new LabelledValues(() => new TimeSeries(OPERATION_BREAKER_SHAPE, reading), 2000)
    this.members = new LabelledValues(() => new TimeSeries(MEMBER_SHAPE, reading), 10_000)
    this.latencies = new LatencySketches(reading)
  }

  /** The rows that changed since the last call. */
  takeChanged(node: string): MetricsRow[] {
    const rows: MetricsRow[] = []
    const take = (series: Pick<StoredSeries, 'takeChanged'>, prefix: string, label: string) => {
      for (const { start, data } of series.takeChanged())
        rows.push({ series: `${prefix}${label}`, start, node, data })
    }
    take(this.total, 'minute:', 'total')
    for (const [prefix, labels] of this.groups())
      for (const [label, series] of labels) take(series, prefix, label)
    take(this.latencies, 'hour:', 'sketch')
    return rows
  }

  /** Marks rows as changed, because they could not be saved. */
  markUnsaved(rows: readonly MetricsRow[]): void {
    for (const { series, start } of rows)
      if (series === 'hour:sketch') this.latencies.markUnsaved(start)
      else this.find(series)?.markUnsaved(start)
  }

  /** Adds a stored row of any node; `now` is the wall-clock time. */
  mergeStored({ series, start, data }: MetricsRow, now: number): void {
    if (!Number.isSafeInteger(start)) return
    const target = series === 'hour:sketch' ? this.latencies : this.find(series)
    target?.mergeStored(start, data, Math.max(0, now - start - target.blockLength))
  }

  /** Deletes data that has not changed since a monotonic time. */
  expire(before: number): void {
    this.total.expire(before)
    for (const [, labels] of this.groups()) {
      for (const [, series] of labels) series.expire(before)
      labels.prune((series) => series.isEmpty)
    }
    this.latencies.expire(before)
  }

  private groups(): readonly (readonly [prefix: string, labels: LabelledValues<StoredSeries>])[] {
    return [
      ['minute:policy:', this.policies],
      ['minute:subsystem:', this.subsystems],
      ['minute:kind:', this.kinds],
      ['minute:success:', this.successes],
      ['minute:operation:', this.operations],
      ['minute:latency:', this.operationLatencies],
      ['hour:breaker:', this.operationBreakers],
      ['hour:member:', this.members],
    ]
  }

  private find(name: string): StoredSeries | undefined {
    if (name === 'minute:total') return this.total
    for (const [prefix, labels] of this.groups())
      if (name.startsWith(prefix)) return labels.get(name.slice(prefix.length))
    return undefined
  }
}

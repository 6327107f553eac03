import { HoldfastError } from 'holdfast'
import { type Check, check, countless, time } from '../check.js'
import type { MetricsByMember, MetricsSeries, MetricsSummary, MetricsWindow } from '../records/metrics.js'
import type { Labels } from './labels.js'
import { quantiles } from './latencies.js'
import { type Ledger, MEMBER, PART, TOTAL } from './ledger.js'
import type { Recent } from './recent.js'
import { DAY, HOUR, MINUTE, type Series } from './series.js'
import { createSketch } from './sketch.js'

type Ledgers = readonly Ledger[]

const EVER = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY] as const

const ratio = (part: number, whole: number) => (whole > 0 ? part / whole : 0)

const floor = (time: number, step: number) => Math.floor(time / step) * step

/** A label's numbers over all ledgers. */
function sums(
  ledgers: Ledgers,
  pick: (ledger: Ledger) => Labels<Series>,
  from: number,
  to: number,
): Map<string, Float64Array> {
  const result = new Map<string, Float64Array>()
  for (const ledger of ledgers)
    for (const [label, series] of pick(ledger)) {
      const into = result.get(label) ?? new Float64Array(series.shape.fields)
      series.sum(from, to, into)
      // The first field counts occasions: without any, nothing happened.
      if ((into[0] as number) > 0 || into.some((number) => number > 0)) result.set(label, into)
    }
  return result
}

/** Counts by name. */
const tallies = (map: Map<string, Float64Array>): Record<string, number> =>
  Object.fromEntries([...map].map(([label, numbers]) => [label, numbers[0] as number]))

function totals(ledgers: Ledgers, from: number, to: number): Float64Array {
  const into = new Float64Array(Object.keys(TOTAL).length)
  for (const { total } of ledgers) total.sum(from, to, into)
  return into
}

/** The summary of everything that is kept. */
export function summaryOf(ledgers: Ledgers, retentionHours: number): MetricsSummary {
  const total = totals(ledgers, ...EVER)
  return {
    totalRetries: total[TOTAL.retries] as number,
    successByAttempt: tallies(sums(ledgers, ({ successes }) => successes, ...EVER)),
    circuitBreakerEventsCount: total[TOTAL.breakerChanges] as number,
    retentionHours,
  }
}

/** One point for each hour, or day, in which anything was counted. */
export function seriesOf(ledgers: Ledgers, from: number, step: 'hour' | 'day'): MetricsSeries {
  const points = new Map<number, Float64Array>()
  for (const { total } of ledgers)
    total.each(from, Number.POSITIVE_INFINITY, (start, numbers, at) => {
      if (numbers[at + TOTAL.sessions] === 0) return
      const time = floor(start, step === 'day' ? DAY : HOUR)
      let point = points.get(time)
      if (point === undefined) {
        point = new Float64Array(total.shape.fields)
        points.set(time, point)
      }
      total.fold(point, numbers, at)
    })
  return {
    dataPoints: [...points]
      .toSorted(([a], [b]) => a - b)
      .map(([time, point]) => ({
        timestamp: new Date(time),
        totalRequests: point[TOTAL.sessions] as number,
        totalRetries: point[TOTAL.retries] as number,
        successRate: ratio(point[TOTAL.successes] as number, point[TOTAL.sessions] as number),
        avgLatency: ratio(point[TOTAL.attemptTime] as number, point[TOTAL.timedAttempts] as number),
      })),
  }
}

/** The table of members. An id that two pools have is told as `POOL:ID`. */
export function membersOf(ledgers: Ledgers, from: number): MetricsByMember {
  const found = [...sums(ledgers, ({ members }) => members, from, Number.POSITIVE_INFINITY)].map(
    ([key, numbers]) => {
      const [pool = '', id] = key.split(':').map(decodeURIComponent)
      return { pool, id: id ?? pool, numbers }
    },
  )
  const pools = new Map<string, number>()
  for (const { id } of found) pools.set(id, (pools.get(id) ?? 0) + 1)
  const proxies: MetricsByMember['proxies'] = {}
  for (const { pool, id, numbers } of found) {
    const attempts = numbers[MEMBER.attempts] as number
    const successes = numbers[MEMBER.successes] as number
    proxies[pools.get(id) === 1 ? id : `${pool}:${id}`] = {
      proxyId: id,
      totalAttempts: attempts,
      successCount: successes,
      failureCount: attempts - successes,
      avgLatency: ratio(numbers[MEMBER.time] as number, numbers[MEMBER.timed] as number),
      circuitBreakerOpens: numbers[MEMBER.opens] as number,
    }
  }
  return { proxies }
}

/** Everything in a window: the minutes that begin in it, the minute in which it begins included. */
export function windowOf(
  ledgers: Ledgers,
  recent: Recent,
  { from, to }: { from: Date; to: Date },
): MetricsWindow {
  const [start, end] = [floor(from.getTime(), MINUTE), to.getTime()]
  const total = totals(ledgers, start, end)
  const [sessions, attempts] = [total[TOTAL.sessions] as number, total[TOTAL.attempts] as number]
  const parts = (pick: (ledger: Ledger) => Labels<Series>) =>
    Object.fromEntries(
      [...sums(ledgers, pick, start, end)].map(([label, numbers]) => {
        const calls = numbers[PART.sessions] as number
        return [
          label,
          {
            sessions: calls,
            successRate: ratio(numbers[PART.successes] as number, calls),
            averageAttempts: ratio(numbers[PART.attempts] as number, calls),
          },
        ]
      }),
    )
  return {
    timeWindowStart: from,
    timeWindowEnd: to,
    totalSessions: sessions,
    successfulSessions: total[TOTAL.successes] as number,
    failedSessions: sessions - (total[TOTAL.successes] as number),
    totalAttempts: attempts,
    averageAttemptsPerSession: ratio(attempts, sessions),
    maxAttemptsInSession: total[TOTAL.most] as number,
    totalDuration: total[TOTAL.callTime] as number,
    averageDurationPerSession: ratio(total[TOTAL.callTime] as number, sessions),
    byPolicy: parts(({ policies }) => policies),
    bySubsystem: parts(({ subsystems }) => subsystems),
    failureByReason: tallies(sums(ledgers, ({ kinds }) => kinds, start, end)),
    latency: latencyOf(ledgers, recent, start, end),
  }
}

function latencyOf(ledgers: Ledgers, recent: Recent, from: number, to: number) {
  const sketch = createSketch()
  if (ledgers.length === 1 && recent.covers(from)) recent.merge(from, to, sketch)
  else for (const { latencies } of ledgers) latencies.merge(from, to, sketch)
  return quantiles(sketch)
}

const ASKED = {
  hours: countless,
  step: ['hour or day', (value: unknown) => value === 'hour' || value === 'day'],
} satisfies Record<string, Check>

/** Refuses what metrics cannot be asked for. @throws INVALID_OPTIONS */
export function checkAsked(asked: unknown, names: readonly (keyof typeof ASKED)[]): void {
  check('metrics cannot be told', asked, {}, Object.fromEntries(names.map((name) => [name, ASKED[name]])))
}

/** The first minute of the last `hours`. */
export function since(wall: number, hours: number): number {
  // Nothing was counted before there were clocks like this one.
  return Math.max(0, floor(wall - hours * HOUR, MINUTE))
}

/** A window's two ends, checked. */
export function checkWindow(range: unknown): { from: Date; to: Date } {
  check('a window cannot be told', range ?? {}, { from: time, to: time })
  const { from, to } = range as { from: Date; to: Date }
  if (from <= to) return { from, to }
  const problem = `to: got ${to.toISOString()}, takes a Date at or after from, which is ${from.toISOString()}`
  throw new HoldfastError('INVALID_OPTIONS', `a window cannot be told: ${problem}`, { details: [problem] })
}

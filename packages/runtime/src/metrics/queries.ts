import {
  checkOptions,
  countOrInfinity,
  DAY_MS,
  HOUR_MS,
  type MetricsByMember,
  type MetricsSeries,
  type MetricsSummary,
  type MetricsWindow,
  MINUTE_MS,
  type OptionCheck,
  validDate,
} from '@holdfast/records'
import { createOptionsError, createProblem, forEachInTurns } from 'holdfast/internal'
import type { AttemptRing } from './attempt-ring.js'
import type { LabelledValues } from './labelled-values.js'
import { quantiles } from './latency-sketches.js'
import { LABEL_FIELDS, MEMBER_FIELDS, type SeriesRegistry, TOTAL_FIELDS } from './series-registry.js'
import { createSketch } from './sketch.js'
import type { TimeSeries } from './time-series.js'

/** How many pool members are added up before the event loop gets a turn: 1 to 2 ms. */
const MEMBERS_PER_TURN = 500

const ALL_TIME = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY] as const

const ratio = (part: number, whole: number) => (whole > 0 ? part / whole : 0)

const floor = (time: number, step: number) => Math.floor(time / step) * step

/** Sums the values of each label over all registries. */
function sumByLabel(
  registries: readonly SeriesRegistry[],
  select: (registry: SeriesRegistry) => LabelledValues<TimeSeries>,
  from: number,
  to: number,
): Map<string, Float64Array> {
  const sums = new Map<string, Float64Array>()
  for (const registry of registries)
    for (const [label, series] of select(registry)) addSeries(sums, label, series, from, to)
  return sums
}

/** Adds a series to the sums of its label. A label without any count is omitted. */
function addSeries(
  sums: Map<string, Float64Array>,
  label: string,
  series: TimeSeries,
  from: number,
  to: number,
): void {
  const into = sums.get(label) ?? new Float64Array(series.shape.fields)
  series.sum(from, to, into)
  if ((into[0] as number) > 0 || into.some((number) => number > 0)) sums.set(label, into)
}

/** The first field of each label. */
const countsByLabel = (map: Map<string, Float64Array>): Record<string, number> =>
  Object.fromEntries([...map].map(([label, numbers]) => [label, numbers[0] as number]))

function sumTotals(registries: readonly SeriesRegistry[], from: number, to: number): Float64Array {
  const into = new Float64Array(Object.keys(TOTAL_FIELDS).length)
  for (const { total } of registries) total.sum(from, to, into)
  return into
}

/** The summary over the retention time. */
export function querySummary(registries: readonly SeriesRegistry[], retentionHours: number): MetricsSummary {
  const total = sumTotals(registries, ...ALL_TIME)
  return {
    totalRetries: total[TOTAL_FIELDS.retries] as number,
    successByAttempt: countsByLabel(sumByLabel(registries, ({ successes }) => successes, ...ALL_TIME)),
    circuitBreakerEventsCount: total[TOTAL_FIELDS.breakerChanges] as number,
    retentionHours,
  }
}

/** One point for each hour or day in which anything was counted. */
export function querySeries(
  registries: readonly SeriesRegistry[],
  from: number,
  step: 'hour' | 'day',
): MetricsSeries {
  const points = new Map<number, Float64Array>()
  for (const { total } of registries)
    total.forEachSlot(from, Number.POSITIVE_INFINITY, (start, numbers, at) => {
      if (numbers[at + TOTAL_FIELDS.sessions] === 0) return
      const time = floor(start, step === 'day' ? DAY_MS : HOUR_MS)
      let point = points.get(time)
      if (point === undefined) {
        point = new Float64Array(total.shape.fields)
        points.set(time, point)
      }
      total.addSlot(point, numbers, at)
    })
  return {
    dataPoints: [...points]
      .toSorted(([a], [b]) => a - b)
      .map(([time, point]) => ({
        timestamp: new Date(time),
        totalRequests: point[TOTAL_FIELDS.sessions] as number,
        totalRetries: point[TOTAL_FIELDS.retries] as number,
        successRate: ratio(point[TOTAL_FIELDS.successes] as number, point[TOTAL_FIELDS.sessions] as number),
        avgLatency: ratio(
          point[TOTAL_FIELDS.attemptTime] as number,
          point[TOTAL_FIELDS.timedAttempts] as number,
        ),
      })),
  }
}

/**
 * The metrics of members. An id that two pools share is written as `POOL:ID`. The event loop gets turns in between, because there
 * can be thousands of members.
 */
export async function queryMembers(
  registries: readonly SeriesRegistry[],
  from: number,
): Promise<MetricsByMember> {
  const sums = new Map<string, Float64Array>()
  for (const { members } of registries)
    await forEachInTurns(members, MEMBERS_PER_TURN, ([label, series]) =>
      addSeries(sums, label, series, from, Number.POSITIVE_INFINITY),
    )
  const found: { pool: string; id: string; numbers: Float64Array }[] = []
  const pools = new Map<string, number>()
  await forEachInTurns(sums, MEMBERS_PER_TURN, ([key, numbers]) => {
    const [pool = '', id = pool] = key.split(':').map(decodeURIComponent)
    found.push({ pool, id, numbers })
    pools.set(id, (pools.get(id) ?? 0) + 1)
  })
  const proxies: MetricsByMember['proxies'] = {}
  await forEachInTurns(found, MEMBERS_PER_TURN, ({ pool, id, numbers }) => {
    const attempts = numbers[MEMBER_FIELDS.attempts] as number
    const successes = numbers[MEMBER_FIELDS.successes] as number
    proxies[pools.get(id) === 1 ? id : `${pool}:${id}`] = {
      proxyId: id,
      totalAttempts: attempts,
      successCount: successes,
      failureCount: attempts - successes,
      avgLatency: ratio(numbers[MEMBER_FIELDS.time] as number, numbers[MEMBER_FIELDS.timed] as number),
      circuitBreakerOpens: numbers[MEMBER_FIELDS.opens] as number,
    }
  })
  return { proxies }
}

/** The metrics of a window: the minutes that start in it, and the minute in which it starts. */
export function queryWindow(
  registries: readonly SeriesRegistry[],
  recent: AttemptRing,
  { from, to }: { from: Date; to: Date },
): MetricsWindow {
  const [start, end] = [floor(from.getTime(), MINUTE_MS), to.getTime()]
  const total = sumTotals(registries, start, end)
  const [sessions, attempts] = [
    total[TOTAL_FIELDS.sessions] as number,
    total[TOTAL_FIELDS.attempts] as number,
  ]
  const byLabel = (select: (registry: SeriesRegistry) => LabelledValues<TimeSeries>) =>
    Object.fromEntries(
      [...sumByLabel(registries, select, start, end)].map(([label, numbers]) => {
        const calls = numbers[LABEL_FIELDS.sessions] as number
        return [
          label,
          {
            sessions: calls,
            successRate: ratio(numbers[LABEL_FIELDS.successes] as number, calls),
            averageAttempts: ratio(numbers[LABEL_FIELDS.attempts] as number, calls),
          },
        ]
      }),
    )
  return {
    timeWindowStart: from,
    timeWindowEnd: to,
    totalSessions: sessions,
    successfulSessions: total[TOTAL_FIELDS.successes] as number,
    failedSessions: sessions - (total[TOTAL_FIELDS.successes] as number),
    totalAttempts: attempts,
    averageAttemptsPerSession: ratio(attempts, sessions),
    maxAttemptsInSession: total[TOTAL_FIELDS.most] as number,
    totalDuration: total[TOTAL_FIELDS.callTime] as number,
    averageDurationPerSession: ratio(total[TOTAL_FIELDS.callTime] as number, sessions),
    byPolicy: byLabel(({ policies }) => policies),
    bySubsystem: byLabel(({ subsystems }) => subsystems),
    failureByReason: countsByLabel(sumByLabel(registries, ({ kinds }) => kinds, start, end)),
    latency: queryLatency(registries, recent, start, end),
  }
}

function queryLatency(registries: readonly SeriesRegistry[], recent: AttemptRing, from: number, to: number) {
  const sketch = createSketch()
  if (registries.length === 1 && recent.isCompleteSince(from)) recent.merge(from, to, sketch)
  else for (const { latencies } of registries) latencies.merge(from, to, sketch)
  return quantiles(sketch)
}

const QUERY_CHECKS = {
  hours: countOrInfinity,
  step: ['hour or day', (value: unknown) => value === 'hour' || value === 'day'],
} satisfies Record<string, OptionCheck>

/** Rejects query options that are not valid. @throws INVALID_OPTIONS */
export function checkQuery(options: unknown, names: readonly (keyof typeof QUERY_CHECKS)[]): void {
  checkOptions(
    'metrics cannot be queried',
    options,
    {},
    Object.fromEntries(names.map((name) => [name, QUERY_CHECKS[name]])),
  )
}

/** The first minute of the last `hours`. */
export function windowStart(wall: number, hours: number): number {
  // A clock near the epoch must not give a negative start.
  return Math.max(0, floor(wall - hours * HOUR_MS, MINUTE_MS))
}

/** Checks both ends of a window. */
export function checkWindow(range: unknown): { from: Date; to: Date } {
  checkOptions('a window cannot be queried', range ?? {}, { from: validDate, to: validDate })
  const { from, to } = range as { from: Date; to: Date }
  if (from <= to) return { from, to }
  throw createOptionsError('a window cannot be queried', [
    createProblem('to', 'conflict', `a Date at or after from (${from.toISOString()})`, to.toISOString()),
  ])
}

import { HOUR_MS, MINUTE_MS } from '@holdfast/records/constants'
import { getJson } from '../../api/client.js'
import type { WireOperations } from '../../api/types.js'
import { boundsOf, type SelectedTimeRange } from '../../time-range.js'
import { stepLength, type TimeSpan, timeSteps } from './steps.js'

type WirePoint = WireOperations['total']['data_points'][number]

/** The calls of one step of a chart, which begins at `at`. Rates and latencies are undefined without calls. */
export interface SeriesPoint {
  readonly at: number
  readonly calls: number
  readonly failed: number
  readonly retries: number
  /** From 0 to 1. */
  readonly errorRate: number | undefined
  /** Percentiles of the duration of a call in seconds. */
  readonly latency: { readonly p50: number; readonly p95: number; readonly p99: number } | undefined
}

/** The calls of all operations, or of one, in a time range. */
export interface Traffic {
  readonly span: TimeSpan
  readonly points: readonly SeriesPoint[]
  readonly metrics: WireOperations
}

/** One point for each step, with zeros for steps without calls. */
export function toPoints(
  span: TimeSpan,
  dataPoints: readonly WirePoint[],
  step = stepLength(span),
): SeriesPoint[] {
  const known = new Map(dataPoints.map((point) => [Date.parse(point.timestamp), point]))
  return timeSteps(span, step).map(({ from: at }) => {
    const point = known.get(at)
    if (point === undefined)
      return { at, calls: 0, failed: 0, retries: 0, errorRate: undefined, latency: undefined }
    const { calls, failures, retries, rejections, latency } = point
    return {
      at,
      calls,
      failed: failures,
      retries,
      errorRate: calls === 0 ? undefined : failures / calls,
      // Rejected calls have no duration.
      latency: calls > rejections ? latency : undefined,
    }
  })
}

const loadMetrics = (
  { from, to }: TimeSpan,
  step: number,
  operation: string | undefined,
  signal: AbortSignal,
): Promise<WireOperations> =>
  getJson<WireOperations>(
    '/metrics/operations',
    {
      from: new Date(from).toISOString(),
      to: new Date(to).toISOString(),
      step: String(step / 1000),
      operation,
    },
    signal,
  )

/** Loads the calls of a time range. Without a selected range the range depends on how long there have been calls. */
export async function loadTraffic(
  range: SelectedTimeRange,
  now: number,
  signal: AbortSignal,
  operation?: string,
): Promise<Traffic> {
  const span = selectedSpan(range, now) ?? (await defaultSpan(now, signal, operation))
  const steps = timeSteps(span)
  const aligned = { from: steps[0]?.from ?? span.from, to: steps.at(-1)?.to ?? span.to }
  const metrics = await loadMetrics(aligned, stepLength(span), operation, signal)
  return { span, points: toPoints(span, metrics.total.data_points), metrics }
}

/** The selected time range; undefined where all times are selected. */
export function selectedSpan(range: SelectedTimeRange, now: number): TimeSpan | undefined {
  const { from, to = now } = boundsOf(range, now)
  return from === undefined ? undefined : { from: Math.min(from, to - MINUTE_MS), to }
}

/** The range where none is selected: the last day. */
export const lastDay = (now: number): TimeSpan => ({ from: now - 24 * HOUR_MS, to: now })

/** A day; an hour or a quarter of an hour if there were no calls before that, so that the first calls are more than one bar at the edge. */
async function defaultSpan(
  now: number,
  signal: AbortSignal,
  operation: string | undefined,
): Promise<TimeSpan> {
  const { total } = await loadMetrics(lastDay(now), 15 * MINUTE_MS, operation, signal)
  const first = total.data_points[0]
  const age = first === undefined ? 24 * HOUR_MS : now - Date.parse(first.timestamp)
  const length = age <= 15 * MINUTE_MS ? 15 * MINUTE_MS : age <= HOUR_MS ? HOUR_MS : 24 * HOUR_MS
  return { from: now - length, to: now }
}

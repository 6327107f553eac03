import { getJson } from '../../api/client.js'
import type { WireMetricsWindow, WireSeries } from '../../api/types.js'
import { HOUR_MS, MINUTE_MS, stepLength, type TimeSpan, timeSteps } from './steps.js'

/** The counts of one step of the chart, which begins at `at`. */
export interface SeriesPoint {
  readonly at: number
  readonly calls: number
  readonly retries: number
  /** From 0 to 1; undefined without calls. */
  readonly success: number | undefined
}

const toPoint = (at: number, counted: WireMetricsWindow): SeriesPoint => ({
  at,
  calls: counted.total_sessions,
  retries: Math.max(0, counted.total_attempts - counted.total_sessions),
  success: counted.total_sessions === 0 ? undefined : counted.successful_sessions / counted.total_sessions,
})

/** The cache of past steps, which do not change any more. */
const finishedSteps = new Map<string, SeriesPoint>()

async function loadMinutes(span: TimeSpan, now: number, signal: AbortSignal): Promise<SeriesPoint[]> {
  const steps = timeSteps(span)
  const points: SeriesPoint[] = []
  const left = steps.entries()
  const worker = async (): Promise<void> => {
    for (const [index, { from, to }] of left) {
      const key = `${from}-${to}`
      const known = finishedSteps.get(key)
      const query = { from: new Date(from).toISOString(), to: new Date(to).toISOString() }
      const point = known ?? toPoint(from, await getJson<WireMetricsWindow>('/metrics/window', query, signal))
      points[index] = point
      if (to + MINUTE_MS < now) finishedSteps.set(key, point)
    }
  }
  if (finishedSteps.size > 2000) finishedSteps.clear()
  await Promise.all(Array.from({ length: 4 }, worker))
  return points
}

async function loadHours(span: TimeSpan, signal: AbortSignal): Promise<SeriesPoint[]> {
  const series = await getJson<WireSeries>('/metrics/retries/timeseries', { hours: '24' }, signal)
  const known = new Map(series.data_points.map((point) => [Date.parse(point.timestamp), point]))
  return timeSteps(span).map(({ from: at }) => {
    const point = known.get(at)
    if (point === undefined || point.total_requests === 0)
      return { at, calls: 0, retries: 0, success: undefined }
    return { at, calls: point.total_requests, retries: point.total_retries, success: point.success_rate }
  })
}

/** Loads the calls, retries and success rate of a time range: by hour, or by minutes for a short range. */
export const loadSeries = (span: TimeSpan, now: number, signal: AbortSignal): Promise<SeriesPoint[]> =>
  stepLength(span) === HOUR_MS ? loadHours(span, signal) : loadMinutes(span, now, signal)

/**
 * The default range in minutes: a day; an hour or a quarter of an hour if there were no calls before that, so that the first
 * calls are more than one bar at the edge.
 */
export async function defaultMinutes(now: number, signal: AbortSignal): Promise<number> {
  const calls = async (from: number, to: number): Promise<number> => {
    const query = { from: new Date(now - from).toISOString(), to: new Date(now - to).toISOString() }
    return (await getJson<WireMetricsWindow>('/metrics/window', query, signal)).total_sessions
  }
  const [before, hour, quarter] = await Promise.all([
    calls(24 * HOUR_MS, HOUR_MS),
    calls(HOUR_MS, 15 * MINUTE_MS),
    calls(15 * MINUTE_MS, 0),
  ])
  return before > 0 || hour + quarter === 0 ? 1440 : hour > 0 ? 60 : 15
}

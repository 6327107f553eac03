import { get } from '../../api/call.js'
import type { Series, Window } from '../../api/types.js'
import { HOUR, MINUTE, type Span, stepOf, stepsOf } from './steps.js'

/** What was counted from a point in time on. */
export interface Point {
  readonly at: number
  readonly calls: number
  readonly retries: number
  /** From 0 to 1; undefined where nothing was called. */
  readonly success: number | undefined
}

const ofWindow = (at: number, counted: Window): Point => ({
  at,
  calls: counted.total_sessions,
  retries: Math.max(0, counted.total_attempts - counted.total_sessions),
  success: counted.total_sessions === 0 ? undefined : counted.successful_sessions / counted.total_sessions,
})

/** Steps that are over do not change any more. */
const over = new Map<string, Point>()

async function minutes(span: Span, now: number, signal: AbortSignal): Promise<Point[]> {
  const steps = stepsOf(span)
  const points: Point[] = []
  const left = steps.entries()
  const worker = async (): Promise<void> => {
    for (const [index, { from, to }] of left) {
      const key = `${from}-${to}`
      const known = over.get(key)
      const query = { from: new Date(from).toISOString(), to: new Date(to).toISOString() }
      const point = known ?? ofWindow(from, await get<Window>('/metrics/window', query, signal))
      points[index] = point
      if (to + MINUTE < now) over.set(key, point)
    }
  }
  if (over.size > 2000) over.clear()
  await Promise.all(Array.from({ length: 4 }, worker))
  return points
}

async function hours(span: Span, signal: AbortSignal): Promise<Point[]> {
  const series = await get<Series>('/metrics/retries/timeseries', { hours: '24' }, signal)
  const known = new Map(series.data_points.map((point) => [Date.parse(point.timestamp), point]))
  return stepsOf(span).map(({ from: at }) => {
    const point = known.get(at)
    if (point === undefined || point.total_requests === 0)
      return { at, calls: 0, retries: 0, success: undefined }
    return { at, calls: point.total_requests, retries: point.total_retries, success: point.success_rate }
  })
}

/** Calls, retries and success of a stretch of time: by the hour, or by minutes where it is short. */
export const load = (span: Span, now: number, signal: AbortSignal): Promise<Point[]> =>
  stepOf(span) === HOUR ? hours(span, signal) : minutes(span, now, signal)

/**
 * How many minutes are looked at where nobody says: a day; an hour or a quarter of one where there was nothing before that,
 * so that the first calls are more than one bar at the edge.
 */
export async function usualMinutes(now: number, signal: AbortSignal): Promise<number> {
  const calls = async (from: number, to: number): Promise<number> => {
    const query = { from: new Date(now - from).toISOString(), to: new Date(now - to).toISOString() }
    return (await get<Window>('/metrics/window', query, signal)).total_sessions
  }
  const [before, hour, quarter] = await Promise.all([
    calls(24 * HOUR, HOUR),
    calls(HOUR, 15 * MINUTE),
    calls(15 * MINUTE, 0),
  ])
  return before > 0 || hour + quarter === 0 ? 1440 : hour > 0 ? 60 : 15
}

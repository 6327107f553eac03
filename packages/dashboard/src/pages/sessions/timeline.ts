import type { WireSession } from '../../api/types.js'
import { formatFailure } from './outcome.js'

/** A part of the timeline of a session, as fractions of its length. */
export interface TimelinePart {
  /** `wait`, or the outcome of an attempt. */
  readonly kind: string
  /** The attempt, or the one that follows the wait. */
  readonly attempt: number
  readonly from: number
  readonly to: number
  /** Seconds. */
  readonly length: number
  /** The pool member and the error of an attempt. */
  readonly label?: string
}

/** A mark of the axis. */
export interface TimelineTick {
  /** The position as a fraction of the length. */
  readonly at: number
  /** Seconds since the start of the call. */
  readonly seconds: number
}

interface TimelineSpan {
  kind: string
  attempt: number
  from: number
  to: number
  label?: string
}

/** The attempts and waits of a session in milliseconds since the epoch, and the end of the last one. */
function timelineSpans(
  session: Pick<WireSession, 'start_time' | 'attempts' | 'next_retry_time'>,
  now: number,
): { start: number; end: number; spans: TimelineSpan[] } {
  const start = Date.parse(session.start_time)
  const spans: TimelineSpan[] = []
  let at = start
  for (const attempt of session.attempts) {
    const { attempt_number, timestamp, delay, duration, outcome, proxy_id } = attempt
    const startedAt = Math.max(at, Date.parse(timestamp))
    if (delay > 0)
      spans.push({
        kind: 'wait',
        attempt: attempt_number,
        from: Math.max(at, startedAt - delay * 1000),
        to: startedAt,
      })
    const label = [proxy_id, formatFailure(attempt)].filter(Boolean).join(' · ')
    spans.push({
      kind: outcome,
      attempt: attempt_number,
      from: startedAt,
      to: startedAt + duration * 1000,
      ...(label === '' ? {} : { label }),
    })
    at = startedAt + duration * 1000
  }
  if (session.next_retry_time != null) {
    const next = Date.parse(session.next_retry_time)
    spans.push({
      kind: 'wait',
      attempt: session.attempts.length + 1,
      from: at,
      to: Math.max(next, Math.min(now, next)),
    })
  }
  return { start, end: Math.max(start + 1, ...spans.map(({ to }) => to)), spans }
}

/** The attempts and waits of a session in order. A running session that waits includes the wait for the next attempt. */
export function timelineParts(
  session: Pick<WireSession, 'start_time' | 'attempts' | 'next_retry_time'>,
  now: number,
): TimelinePart[] {
  const { start, end, spans } = timelineSpans(session, now)
  return spans.map(({ from, to, ...rest }) => ({
    ...rest,
    from: (from - start) / (end - start),
    to: (to - start) / (end - start),
    length: (to - from) / 1000,
  }))
}

/** The most marks of an axis besides its start. */
const MAX_TICKS = 6

/** The least distance of two marks, in seconds. */
const MIN_STEP = 0.001

/** The marks of the axis: multiples of 1, 2 or 5 times a power of ten, from the start of the call. */
export function timelineTicks(
  session: Pick<WireSession, 'start_time' | 'attempts' | 'next_retry_time'>,
  now: number,
): TimelineTick[] {
  const { start, end } = timelineSpans(session, now)
  const length = (end - start) / 1000
  // Times are recorded in milliseconds.
  const power = Math.max(MIN_STEP, 10 ** Math.floor(Math.log10(length / MAX_TICKS)))
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => length / each <= MAX_TICKS)
  if (step === undefined) return [{ at: 0, seconds: 0 }]
  const count = Math.floor(length / step + 1e-9)
  return Array.from({ length: count + 1 }, (_, index) => ({
    at: (index * step) / length,
    seconds: index * step,
  }))
}

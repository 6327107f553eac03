import type { WireSession } from '../../api/types.js'

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
}

/** The attempts and waits of a session in order. A running session that waits includes the wait for the next attempt. */
export function timelineParts(
  session: Pick<WireSession, 'start_time' | 'attempts' | 'next_retry_time'>,
  now: number,
): TimelinePart[] {
  const start = Date.parse(session.start_time)
  const parts: { kind: TimelinePart['kind']; attempt: number; from: number; to: number }[] = []
  let at = start
  for (const { attempt_number, timestamp, delay, duration, outcome } of session.attempts) {
    const startedAt = Math.max(at, Date.parse(timestamp))
    if (delay > 0)
      parts.push({
        kind: 'wait',
        attempt: attempt_number,
        from: Math.max(at, startedAt - delay * 1000),
        to: startedAt,
      })
    parts.push({ kind: outcome, attempt: attempt_number, from: startedAt, to: startedAt + duration * 1000 })
    at = startedAt + duration * 1000
  }
  if (session.next_retry_time != null) {
    const next = Date.parse(session.next_retry_time)
    parts.push({
      kind: 'wait',
      attempt: session.attempts.length + 1,
      from: at,
      to: Math.max(next, Math.min(now, next)),
    })
  }
  const end = Math.max(start + 1, ...parts.map(({ to }) => to))
  return parts.map(({ kind, attempt, from, to }) => ({
    kind,
    attempt,
    from: (from - start) / (end - start),
    to: (to - start) / (end - start),
    length: (to - from) / 1000,
  }))
}

import type { WireBreaker, WireBreakerChange } from '../../api/types.js'

export type TimelineState = WireBreaker['state']

/** A time in one state, as shares of what the strip shows: 0 is its beginning, 1 is now. */
export interface TimelineSegment {
  readonly state: TimelineState
  readonly from: number
  readonly to: number
}

/**
 * How a breaker stood over a stretch of time. `changes` are its own, newest first; what it was before the first of them is
 * what that one left. Nothing is said of the time before `known`: what happened then was not kept.
 */
export function timelineSegments(
  state: TimelineState,
  changes: readonly Pick<WireBreakerChange, 'from_state' | 'to_state' | 'timestamp'>[],
  from: number,
  to: number,
  known = from,
): TimelineSegment[] {
  const share = (at: number) => Math.min(1, Math.max(0, (at - from) / (to - from)))
  const segments: TimelineSegment[] = []
  let end = 1
  let after = state
  for (const change of changes) {
    const at = share(Date.parse(change.timestamp))
    // A state that was never told of, because its change was not kept, is taken from the change itself.
    if (segments.length === 0) after = change.to_state
    if (at < end) segments.push({ state: after, from: at, to: end })
    end = Math.min(end, at)
    after = change.from_state
    if (at === 0) break
  }
  const begin = share(known)
  if (end > begin) segments.push({ state: after, from: begin, to: end })
  return segments.toReversed()
}

/** The same in words. */
export function summarizeSegments(segments: readonly TimelineSegment[]): string {
  const shares = new Map<TimelineState, number>()
  for (const { state, from, to } of segments) shares.set(state, (shares.get(state) ?? 0) + to - from)
  if (shares.size === 0) return 'nothing is known'
  return [...shares]
    .map(([state, share]) => `${state.replace('_', ' ')} ${Math.round(share * 100)} %`)
    .join(', ')
}

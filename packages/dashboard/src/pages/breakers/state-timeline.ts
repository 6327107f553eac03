import type { WireBreaker, WireBreakerChange } from '../../api/types.js'

export type TimelineState = WireBreaker['state']

/** A segment of the timeline in one state, as fractions: 0 is its beginning, 1 is now. */
export interface TimelineSegment {
  readonly state: TimelineState
  readonly from: number
  readonly to: number
}

/**
 * The states of a breaker in a time range. `changes` are the changes of this breaker, newest first; the state before the
 * oldest one is its `from_state`. The time before `known` has no segment, because its changes are not stored.
 */
export function timelineSegments(
  state: TimelineState,
  changes: readonly Pick<WireBreakerChange, 'from_state' | 'to_state' | 'timestamp'>[],
  from: number,
  to: number,
  known = from,
): TimelineSegment[] {
  const fraction = (at: number) => Math.min(1, Math.max(0, (at - from) / (to - from)))
  const segments: TimelineSegment[] = []
  let end = 1
  let after = state
  for (const change of changes) {
    const at = fraction(Date.parse(change.timestamp))
    // The newest change determines the last state, even if the breaker was loaded before it.
    if (segments.length === 0) after = change.to_state
    if (at < end) segments.push({ state: after, from: at, to: end })
    end = Math.min(end, at)
    after = change.from_state
    if (at === 0) break
  }
  const begin = fraction(known)
  if (end > begin) segments.push({ state: after, from: begin, to: end })
  return segments.toReversed()
}

/** The timeline in words. */
export function summarizeSegments(segments: readonly TimelineSegment[]): string {
  const shares = new Map<TimelineState, number>()
  for (const { state, from, to } of segments) shares.set(state, (shares.get(state) ?? 0) + to - from)
  if (shares.size === 0) return 'no data'
  return [...shares]
    .map(([state, share]) => `${state.replace('_', ' ')} ${Math.round(share * 100)} %`)
    .join(', ')
}

import { HOUR_MS } from '@holdfast/records/constants'
import type { WireBreaker, WireBreakerChange, WireEvent } from '../../api/types.js'
import { formatCount } from '../../format.js'
import type { TimelineState } from './state-timeline.js'

/** How many changes of one breaker are kept. */
const MAX_CHANGES = 400

/** The changes of each breaker, newest first. */
export type ChangesByBreaker = ReadonlyMap<string, readonly WireBreakerChange[]>

/**
 * The time from which the state of a breaker is known. All changes after `since` are loaded. The oldest process started at
 * `begun`: before that there was no breaker, unless an older change is stored.
 */
export function knownFrom(
  { last_state_change }: Pick<WireBreaker, 'last_state_change'>,
  changes: readonly WireBreakerChange[],
  since: number,
  begun: number,
): number {
  // A breaker without changes has had its state since it was created.
  if (changes.length === 0) return Math.max(since, Date.parse(last_state_change))
  const oldest = Date.parse((changes.at(-1) as WireBreakerChange).timestamp)
  return changes.length < MAX_CHANGES ? Math.max(since, Math.min(begun, oldest)) : oldest
}

/**
 * How often a breaker opened in the hour before `now`, as text: `3`, or `3+` if older changes of that hour are not loaded. The
 * event of a change can be a millisecond later than its record, so two changes to open in succession are one opening.
 */
export function formatTimesOpened(changes: readonly WireBreakerChange[], since: number, now: number): string {
  const from = now - HOUR_MS
  const recent = changes.filter(({ timestamp }) => Date.parse(timestamp) >= from)
  const opened = recent.filter(
    ({ to_state }, index) => to_state === 'open' && recent[index + 1]?.to_state !== 'open',
  ).length
  return `${formatCount(opened)}${since > from || recent.length >= MAX_CHANGES ? '+' : ''}`
}

export const isChange = ({ event_type }: WireEvent): boolean => event_type.startsWith('circuit_breaker_')

/** The change of state of an event. */
export function toBreakerChange({ timestamp, context }: WireEvent): WireBreakerChange {
  const { id, fromState, toState, failureCount } = context as {
    id: string
    fromState: TimelineState
    toState: TimelineState
    failureCount: number
  }
  return {
    id,
    proxy_id: null,
    from_state: fromState,
    to_state: toState,
    timestamp,
    failure_count: failureCount,
  }
}

/**
 * Adds received changes to the known ones, by breaker. Received changes can be known already, or be older than known ones,
 * because the event stream begins with recent events.
 */
export function mergeChanges(
  received: Iterable<WireBreakerChange>,
  known: ChangesByBreaker = new Map(),
): ChangesByBreaker {
  const grouped = new Map<string, WireBreakerChange[]>()
  for (const change of received) {
    const of = grouped.get(change.id)
    if (of === undefined) grouped.set(change.id, [change])
    else of.push(change)
  }
  const result = new Map(known)
  for (const [id, fresh] of grouped) {
    const before = known.get(id) ?? []
    const unknown = fresh.filter(
      (one) => !before.some((old) => old.timestamp === one.timestamp && old.to_state === one.to_state),
    )
    const all = [...unknown, ...before].toSorted((a, b) => Date.parse(b.timestamp) - Date.parse(a.timestamp))
    result.set(id, all.slice(0, MAX_CHANGES))
  }
  return result
}

/** Applies changes to breakers. A change that is older than the state of a breaker is ignored. */
export function applyChanges(
  list: readonly WireBreaker[],
  received: readonly WireBreakerChange[],
): readonly WireBreaker[] {
  const latest = new Map<string, WireBreakerChange>()
  for (const change of received) {
    const other = latest.get(change.id)
    if (other === undefined || Date.parse(change.timestamp) >= Date.parse(other.timestamp))
      latest.set(change.id, change)
  }
  return list.map((breaker) => {
    const change = latest.get(breaker.id)
    return change === undefined || Date.parse(change.timestamp) < Date.parse(breaker.last_state_change)
      ? breaker
      : applyChange(breaker, change)
  })
}

/** Applies a change to a breaker. The next probe is estimated from the configured duration until the breaker is loaded again. */
function applyChange(
  breaker: WireBreaker,
  { from_state, to_state, timestamp, failure_count }: WireBreakerChange,
): WireBreaker {
  const next = Date.parse(timestamp) + breaker.timeout_duration * 1000
  return {
    ...breaker,
    state: to_state,
    // A failed probe does not change the number of failures that opened the breaker.
    failure_count: to_state === 'closed' || from_state === 'closed' ? failure_count : breaker.failure_count,
    last_state_change: timestamp,
    next_test_time: to_state === 'open' ? new Date(next).toISOString() : null,
  }
}

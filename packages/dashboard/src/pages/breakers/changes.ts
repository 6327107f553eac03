import type { WireBreaker, WireBreakerChange, WireEvent } from '../../api/types.js'
import type { TimelineState } from './state-timeline.js'

/** So many changes of one breaker are kept. */
const MAX_CHANGES = 400

/** The changes of each breaker, newest first. */
export type ChangesByBreaker = ReadonlyMap<string, readonly WireBreakerChange[]>

/**
 * From when on a breaker's state is known, where all changes are from `since` on, and the first process began at `begun`:
 * before that there was no breaker, unless one is remembered to have changed.
 */
export function knownFrom(
  { last_state_change }: Pick<WireBreaker, 'last_state_change'>,
  changes: readonly WireBreakerChange[],
  since: number,
  begun: number,
): number {
  // One that never changed is as old as its state.
  if (changes.length === 0) return Math.max(since, Date.parse(last_state_change))
  const oldest = Date.parse((changes.at(-1) as WireBreakerChange).timestamp)
  return changes.length < MAX_CHANGES ? Math.max(since, Math.min(begun, oldest)) : oldest
}

export const isChange = ({ event_type }: WireEvent): boolean => event_type.startsWith('circuit_breaker_')

/** A change of state as the feed tells it. */
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
 * What was known and what is told now, by breaker. What is told may be known already, or be older than what is known: the
 * feed begins with what has just happened.
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

/** Breakers after what was told of them. What happened before a breaker was last heard of changes nothing. */
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

/** Until it is loaded anew, an open one is taken to be tested after its usual time. */
function applyChange(
  breaker: WireBreaker,
  { to_state, timestamp, failure_count }: WireBreakerChange,
): WireBreaker {
  const next = Date.parse(timestamp) + breaker.timeout_duration * 1000
  return {
    ...breaker,
    state: to_state,
    failure_count,
    last_state_change: timestamp,
    next_test_time: to_state === 'open' ? new Date(next).toISOString() : null,
  }
}

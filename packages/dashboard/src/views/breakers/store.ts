import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { get, pages } from '../../api/call.js'
import { token } from '../../api/token.js'
import type { Breaker, BreakerChange, FeedEvent } from '../../api/types.js'
import { recoveries } from '../../feed/connection.js'
import { useEvents } from '../../feed/feed.js'
import { clock } from '../../page.js'
import type { BreakerState } from './strip.js'

/** So many changes of one breaker are kept. */
const CHANGES = 50

/** Beyond so many that changed at once, all are loaded anew instead of one by one. */
const FEW = 25

/** How often all are loaded anew (ms), for counts that change without an event: rarely where there are many. */
const everyFor = (size: number): number => (size > 1000 ? 60_000 : 5000)

interface Held {
  readonly list: readonly Breaker[]
  readonly changes: ReadonlyMap<string, readonly BreakerChange[]>
}

/** All breakers as last heard of; undefined until they are. */
export const held = signal<Held | undefined>(undefined)
export const trouble = signal<Error | undefined>(undefined)

/** Puts breakers in the place of what was known of them. */
export function replace(fresh: readonly Breaker[]): void {
  const known = held.peek()
  if (known === undefined || fresh.length === 0) return
  const by = new Map(fresh.map((breaker) => [breaker.id, breaker]))
  held.value = { ...known, list: known.list.map((breaker) => by.get(breaker.id) ?? breaker) }
}

const isChange = ({ event_type }: FeedEvent): boolean => event_type.startsWith('circuit_breaker_')

/** A change of state as the feed tells it. */
function changeOf({ timestamp, context }: FeedEvent): BreakerChange {
  const { id, fromState, toState, failureCount } = context as {
    id: string
    fromState: BreakerState
    toState: BreakerState
    failureCount: number
  }
  return {
    id,
    proxy_id: id,
    from_state: fromState,
    to_state: toState,
    timestamp,
    failure_count: failureCount,
  }
}

/** By breaker, newest first. `changes` come newest first too. */
function byId(
  changes: Iterable<BreakerChange>,
  known: ReadonlyMap<string, readonly BreakerChange[]> = new Map(),
): Map<string, readonly BreakerChange[]> {
  const grouped = new Map<string, BreakerChange[]>()
  for (const change of changes) {
    const of = grouped.get(change.id)
    if (of === undefined) grouped.set(change.id, [change])
    else of.push(change)
  }
  const result = new Map(known)
  for (const [id, fresh] of grouped) {
    const before = (known.get(id) ?? []).filter(
      (old) => !fresh.some((one) => one.timestamp === old.timestamp && one.to_state === old.to_state),
    )
    result.set(id, [...fresh, ...before].slice(0, CHANGES))
  }
  return result
}

async function loadAll(stop: AbortSignal): Promise<void> {
  const list: Breaker[] = []
  for await (const page of pages<Breaker>('/circuit-breakers', {}, 'circuit_breakers', stop))
    list.push(...page)
  const past = await get<{ events: BreakerChange[] }>(
    '/circuit-breakers/metrics',
    { hours: '1', limit: '1000' },
    stop,
  )
  held.value = { list, changes: byId(past.events, held.peek()?.changes) }
}

/** Loads breakers and keeps them as they are: each change is heard of as an event. */
export function useBreakers(): void {
  const shown = token.value
  const recovered = recoveries.value

  useEffect(() => {
    const stop = new AbortController()
    let timer: unknown
    const run = async (): Promise<void> => {
      try {
        await loadAll(stop.signal)
        trouble.value = undefined
      } catch (error) {
        if (!stop.signal.aborted) trouble.value = error as Error
      }
      if (!stop.signal.aborted)
        timer = clock.setTimer(() => void run(), everyFor(held.peek()?.list.length ?? 0))
    }
    void run()
    return () => {
      stop.abort()
      clock.clearTimer(timer)
    }
  }, [shown, recovered])

  useEvents((events) => {
    const known = held.peek()
    const changes = events.filter(isChange).map(changeOf).toReversed()
    if (known === undefined || changes.length === 0) return
    const latest = new Map(changes.toReversed().map((change) => [change.id, change]))
    held.value = {
      changes: byId(changes, known.changes),
      list: known.list.map((breaker) => {
        const change = latest.get(breaker.id)
        return change === undefined
          ? breaker
          : { ...breaker, state: change.to_state, last_state_change: change.timestamp }
      }),
    }
    if (latest.size <= FEW) void refresh([...latest.keys()])
  })
}

/** Loads some anew. What fails is loaded with all the others soon. */
async function refresh(ids: readonly string[]): Promise<void> {
  const loaded = await Promise.allSettled(
    ids.map((id) => get<Breaker>(`/circuit-breakers/${encodeURIComponent(id)}`)),
  )
  replace(loaded.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])))
}

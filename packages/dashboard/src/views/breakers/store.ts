import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { get, pages } from '../../api/call.js'
import { token } from '../../api/token.js'
import type { Breaker, BreakerChange, Fleet } from '../../api/types.js'
import { recoveries } from '../../feed/connection.js'
import { useEvents } from '../../feed/feed.js'
import { clock } from '../../page.js'
import { applied, type Changes, changeOf, isChange, merge } from './changes.js'

/** So many that changed are loaded anew at once; the others, where more did, when all are. */
const FEW = 25

/** How often all are loaded anew (ms), for counts that change without an event: rarely where there are many. */
const everyFor = (size: number): number => (size > 1000 ? 60_000 : 5000)

interface Held {
  readonly list: readonly Breaker[]
  readonly changes: Changes
  /** From when on all changes are known (epoch ms). */
  readonly since: number
  /** When the oldest process that tells of breakers began (epoch ms). */
  readonly begun: number
}

/** All breakers as last heard of; undefined until they are. */
export const held = signal<Held | undefined>(undefined)
export const trouble = signal<Error | undefined>(undefined)

/** Puts breakers in the place of what was known of them. */
export function replace(fresh: readonly Breaker[]): void {
  const known = held.peek()
  if (known === undefined || fresh.length === 0) return
  const by = new Map(fresh.map((breaker) => [breaker.id, breaker]))
  const list = known.list.map((breaker) => by.get(breaker.id) ?? breaker)
  for (const { id } of known.list) by.delete(id)
  held.value = { ...known, list: [...list, ...by.values()] }
}

/** What was told while all are being loaded: their answers may be older. */
let meanwhile: BreakerChange[] = []

async function loadAll(stop: AbortSignal): Promise<void> {
  meanwhile = []
  const list: Breaker[] = []
  for await (const page of pages<Breaker>('/circuit-breakers', {}, 'circuit_breakers', stop)) {
    list.push(...page)
    // Of many, those that come first are shown while the others are on their way.
    if (list.length === page.length && held.peek() === undefined)
      held.value = { list: page, changes: new Map(), since: clock.wall(), begun: 0 }
  }
  const { items } = await get<Fleet>('/nodes', {}, stop)
  const begun = Math.min(...items.map(({ started_at }) => Date.parse(started_at)))
  const past = await get<{ events: BreakerChange[]; cursor?: string }>(
    '/circuit-breakers/metrics',
    { hours: '1', limit: '1000' },
    stop,
  )
  const oldest = past.events.at(-1)
  const since = past.cursor === undefined || oldest === undefined ? 0 : Date.parse(oldest.timestamp)
  const changes = merge(past.events, held.peek()?.changes)
  held.value = { list: applied(list, meanwhile), changes, since, begun }
  for (const { id } of meanwhile) due.add(id)
  void refresh()
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
    const told = events.filter(isChange).map(changeOf)
    meanwhile.push(...told)
    if (known === undefined || told.length === 0) return
    held.value = { ...known, changes: merge(told, known.changes), list: applied(known.list, told) }
    for (const { id } of told) due.add(id)
    void refresh()
  })
}

const due = new Set<string>()
let busy = false

/** Loads those that changed anew, some at a time. What fails, or is too much, is loaded with all the others soon. */
async function refresh(): Promise<void> {
  if (busy || due.size === 0) return
  busy = true
  const ids = [...due].slice(0, FEW)
  due.clear()
  const loaded = await Promise.allSettled(
    ids.map((id) => get<Breaker>(`/circuit-breakers/${encodeURIComponent(id)}`)),
  )
  replace(loaded.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])))
  busy = false
  if (due.size > 0) await refresh()
}

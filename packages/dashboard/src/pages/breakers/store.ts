import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { fetchPages, getJson } from '../../api/client.js'
import { recoveries } from '../../api/connection.js'
import { signInCount } from '../../api/sign-in.js'
import type { WireBreaker, WireBreakerChange, WireFleet } from '../../api/types.js'
import { clock } from '../../browser.js'
import { useEvents } from '../../events/event-stream.js'
import { applyChanges, type ChangesByBreaker, isChange, mergeChanges, toBreakerChange } from './changes.js'

/** How many changed breakers are loaded again at once; the others are loaded with the next refresh of all. */
const MAX_REFRESHED = 25

/** The refresh interval of all breakers in milliseconds, for counts that change without an event. It is longer for many breakers. */
const refreshIntervalFor = (size: number): number => (size > 1000 ? 60_000 : 5000)

interface LoadedBreakers {
  readonly list: readonly WireBreaker[]
  readonly changes: ChangesByBreaker
  /** All changes after this time are known (epoch ms). */
  readonly since: number
  /** The start of the oldest process (epoch ms). */
  readonly begun: number
}

/** All breakers; undefined until they are loaded. */
export const breakerStore = signal<LoadedBreakers | undefined>(undefined)
export const loadError = signal<Error | undefined>(undefined)

/** Replaces breakers by newer versions. */
export function replaceBreakers(fresh: readonly WireBreaker[]): void {
  const known = breakerStore.peek()
  if (known === undefined || fresh.length === 0) return
  const by = new Map(fresh.map((breaker) => [breaker.id, breaker]))
  const list = known.list.map((breaker) => by.get(breaker.id) ?? breaker)
  for (const { id } of known.list) by.delete(id)
  breakerStore.value = { ...known, list: [...list, ...by.values()] }
}

/** Changes that arrive while all breakers are loaded: the responses can be older. */
let changesWhileLoading: WireBreakerChange[] = []

async function loadAll(stop: AbortSignal): Promise<void> {
  changesWhileLoading = []
  const list: WireBreaker[] = []
  for await (const page of fetchPages<WireBreaker>('/circuit-breakers', {}, 'circuit_breakers', stop)) {
    list.push(...page)
    // The first page is shown while the others are loaded.
    if (list.length === page.length && breakerStore.peek() === undefined)
      breakerStore.value = { list: page, changes: new Map(), since: clock.wall(), begun: 0 }
  }
  const { items } = await getJson<WireFleet>('/nodes', {}, stop)
  const begun = Math.min(...items.map(({ started_at }) => Date.parse(started_at)))
  const past = await getJson<{ events: WireBreakerChange[]; cursor?: string }>(
    '/circuit-breakers/metrics',
    { hours: '1', limit: '1000' },
    stop,
  )
  const oldest = past.events.at(-1)
  const since = past.cursor === undefined || oldest === undefined ? 0 : Date.parse(oldest.timestamp)
  const changes = mergeChanges(past.events, breakerStore.peek()?.changes)
  breakerStore.value = { list: applyChanges(list, changesWhileLoading), changes, since, begun }
  for (const { id } of changesWhileLoading) changedIds.add(id)
  void refreshChanged()
}

/** Loads breakers and updates them with events. */
export function useBreakers(): void {
  const currentSignIn = signInCount.value
  const recovered = recoveries.value

  useEffect(() => {
    const stop = new AbortController()
    let timer: unknown
    const run = async (): Promise<void> => {
      try {
        await loadAll(stop.signal)
        loadError.value = undefined
      } catch (error) {
        if (!stop.signal.aborted) loadError.value = error as Error
      }
      if (!stop.signal.aborted)
        timer = clock.setTimer(() => void run(), refreshIntervalFor(breakerStore.peek()?.list.length ?? 0))
    }
    void run()
    return () => {
      stop.abort()
      clock.clearTimer(timer)
    }
  }, [currentSignIn, recovered])

  useEvents((events) => {
    const known = breakerStore.peek()
    const changes = events.filter(isChange).map(toBreakerChange)
    changesWhileLoading.push(...changes)
    if (known === undefined || changes.length === 0) return
    breakerStore.value = {
      ...known,
      changes: mergeChanges(changes, known.changes),
      list: applyChanges(known.list, changes),
    }
    for (const { id } of changes) changedIds.add(id)
    void refreshChanged()
  })
}

const changedIds = new Set<string>()
let isRefreshing = false

/** Loads changed breakers again, in batches. Breakers whose request fails are loaded with the next refresh of all. */
async function refreshChanged(): Promise<void> {
  if (isRefreshing || changedIds.size === 0) return
  isRefreshing = true
  const ids = [...changedIds].slice(0, MAX_REFRESHED)
  changedIds.clear()
  const loaded = await Promise.allSettled(
    ids.map((id) => getJson<WireBreaker>(`/circuit-breakers/${encodeURIComponent(id)}`)),
  )
  replaceBreakers(loaded.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])))
  isRefreshing = false
  if (changedIds.size > 0) await refreshChanged()
}

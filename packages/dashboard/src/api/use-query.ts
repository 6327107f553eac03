import { useSignal } from '@preact/signals'
import { useCallback, useEffect, useRef } from 'preact/hooks'
import { clock } from '../browser.js'
import { recoveries } from './connection.js'
import { token } from './token.js'

export interface QueryResult<T> {
  readonly data: T | undefined
  readonly error: Error | undefined
  readonly isLoading: boolean
  reload(): void
}

/**
 * Loads something whenever `key` or the token changes, and every so often (ms) where that is wanted. What was loaded
 * before stays until the new is there, so that nothing flickers; a new key starts from nothing.
 */
export function useQuery<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  every?: number,
): QueryResult<T> {
  const state = useSignal<{ key: string; data?: T; error?: Error; loading: boolean }>({ key, loading: true })
  const again = useSignal(0)
  const latest = useRef(load)
  latest.current = load
  // Asked for again while it runs, it runs once more when it is done: events come quicker than answers.
  const busy = useRef(false)
  const due = useRef(false)
  const shown = token.value
  const recovered = recoveries.value

  useEffect(() => {
    const stop = new AbortController()
    let timer: unknown
    const kept = state.peek()
    state.value = kept.key === key ? { ...kept, loading: true } : { key, loading: true }
    const run = async (): Promise<void> => {
      busy.current = true
      try {
        const data = await latest.current(stop.signal)
        if (!stop.signal.aborted) state.value = { key, data, loading: false }
      } catch (error) {
        const { data } = state.peek()
        if (!stop.signal.aborted)
          state.value = {
            key,
            ...(data === undefined ? {} : { data }),
            error: error as Error,
            loading: false,
          }
      }
      if (stop.signal.aborted) return
      busy.current = false
      if (due.current) again.value++
      else if (every !== undefined) timer = clock.setTimer(() => void run(), every)
    }
    due.current = false
    void run()
    return () => {
      stop.abort()
      clock.clearTimer(timer)
    }
  }, [key, shown, recovered, again.value, every])

  const reload = useCallback(() => {
    if (busy.current) due.current = true
    else again.value++
  }, [])
  const { data, error, loading } = state.value.key === key ? state.value : { loading: true }
  return { data, error, isLoading: loading, reload } as QueryResult<T>
}

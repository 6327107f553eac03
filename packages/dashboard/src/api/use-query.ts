import { useSignal } from '@preact/signals'
import { useCallback, useEffect, useRef } from 'preact/hooks'
import { clock } from '../browser.js'
import { recoveries } from './connection.js'
import { signInCount } from './sign-in.js'

export interface QueryResult<T> {
  readonly data: T | undefined
  readonly error: Error | undefined
  readonly isLoading: boolean
  reload(): void
}

/**
 * Loads data whenever `key` or the sign-in changes, and every `every` milliseconds. The previous data stays until the new data
 * is loaded, so that the page does not flicker; a new key starts without data.
 */
export function useQuery<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  every?: number,
): QueryResult<T> {
  const state = useSignal<{ key: string; data?: T; error?: Error; loading: boolean }>({ key, loading: true })
  const reloadCount = useSignal(0)
  const latest = useRef(load)
  latest.current = load
  // A reload during a request is repeated when the request has ended: events can arrive faster than responses.
  const isBusy = useRef(false)
  const isReloadDue = useRef(false)
  const currentSignIn = signInCount.value
  const recovered = recoveries.value

  useEffect(() => {
    const stop = new AbortController()
    let timer: unknown
    const previous = state.peek()
    state.value = previous.key === key ? { ...previous, loading: true } : { key, loading: true }
    const run = async (): Promise<void> => {
      isBusy.current = true
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
      isBusy.current = false
      if (isReloadDue.current) reloadCount.value++
      else if (every !== undefined) timer = clock.setTimer(() => void run(), every)
    }
    isReloadDue.current = false
    void run()
    return () => {
      stop.abort()
      clock.clearTimer(timer)
    }
  }, [key, currentSignIn, recovered, reloadCount.value, every])

  const reload = useCallback(() => {
    if (isBusy.current) isReloadDue.current = true
    else reloadCount.value++
  }, [])
  const { data, error, loading } = state.value.key === key ? state.value : { loading: true }
  return { data, error, isLoading: loading, reload } as QueryResult<T>
}

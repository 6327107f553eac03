import type { Clock } from 'holdfast'

/** Resolves after `ms` milliseconds, or as soon as the signal is aborted. */
export function waitOrAbort(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const end = (): void => {
      clock.clearTimer(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = clock.setTimer(end, ms)
    signal?.addEventListener('abort', end)
  })
}

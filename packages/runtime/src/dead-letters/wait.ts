import type { Clock } from 'holdfast'

/** Waits until the time has passed or one of the signals is aborted. */
export function waitOrAbort(
  clock: Clock,
  ms: number,
  signals: readonly (AbortSignal | undefined)[],
): Promise<void> {
  if (ms <= 0 || signals.some((signal) => signal?.aborted)) return Promise.resolve()
  return new Promise((resolve) => {
    const done = () => {
      clock.clearTimer(timer)
      for (const signal of signals) signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = clock.setTimer(done, ms)
    for (const signal of signals) signal?.addEventListener('abort', done)
  })
}

import type { Clock } from 'holdfast'

/** A timer that keeps no process alive. */
export function timer(clock: Clock, fn: () => void, ms: number): unknown {
  const handle = clock.setTimer(fn, ms)
  ;(handle as { unref?(): void } | undefined)?.unref?.()
  return handle
}

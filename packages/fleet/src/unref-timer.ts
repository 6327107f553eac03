import type { Clock } from 'holdfast'
import { setSharedTimer } from 'holdfast/internal'

/** A timer that keeps no process alive, and that is part of no call. */
export function setUnrefTimer(clock: Clock, fn: () => void, ms: number): unknown {
  const handle = setSharedTimer(clock, fn, ms)
  ;(handle as { unref?(): void } | undefined)?.unref?.()
  return handle
}

import type { Clock } from 'holdfast'
import { setSharedTimer } from 'holdfast/internal'

/** Sets a timer that does not keep the process alive and runs outside the async context of any call. */
export function setUnrefTimer(clock: Clock, fn: () => void, ms: number): unknown {
  const handle = setSharedTimer(clock, fn, ms)
  ;(handle as { unref?(): void } | undefined)?.unref?.()
  return handle
}

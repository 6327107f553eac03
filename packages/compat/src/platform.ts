// The time, the timers and the random numbers of the platform. The libraries have no option for a clock: their users control
// time by replacing the globals, so these functions read them at each call.

/** Epoch milliseconds. */
export const wallTime = (): number => Date.now()

/** A number from 0 up to, but not including, 1. */
export const random = (): number => Math.random()

/** Calls `fn` after `ms` milliseconds. An `unref` timer does not keep the process alive, where the platform supports that. */
export function startTimer(fn: () => void, ms: number, unref = false): unknown {
  const timer: unknown = setTimeout(fn, ms)
  if (unref) (timer as { unref?: () => void }).unref?.()
  return timer
}

/** Cancels a timer. Does nothing if it has fired. */
export const clearTimer = (timer: unknown): void => clearTimeout(timer as number)

/** Calls `fn` every `ms` milliseconds. The timer does not keep the process alive, where the platform supports that. */
export function startInterval(fn: () => void, ms: number): unknown {
  const timer: unknown = setInterval(fn, ms)
  ;(timer as { unref?: () => void }).unref?.()
  return timer
}

/** Ends a timer of {@link startInterval}. */
export const clearIntervalTimer = (timer: unknown): void => clearInterval(timer as number)

/** Monotonic milliseconds. */
export const monotonicTime = (): number => performance.now()

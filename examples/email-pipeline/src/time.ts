// Real time: the example waits for real services.
import type { Clock } from 'holdfast'

/** Monotonic time in milliseconds. */
// oxlint-disable-next-line holdfast/clock -- real services take real time
export const now = (): number => performance.now()

/** The system clock with its wall time moved forward. */
export const clockAhead = (ms: number): Clock => ({
  now,
  // oxlint-disable-next-line holdfast/clock -- records of real calls have real times
  wall: () => Date.now() + ms,
  // oxlint-disable-next-line holdfast/clock -- real services take real time
  setTimer: (fn, wait) => setTimeout(fn, wait),
  clearTimer: (timer) => clearTimeout(timer as NodeJS.Timeout),
})

// The one place where the example meets real time: it waits for real services.
import type { Clock } from 'holdfast'

/** Milliseconds, of which only differences mean something. */
// oxlint-disable-next-line holdfast/clock -- real services take real time
export const now = (): number => performance.now()

/** The machine's clock with its wall so many milliseconds ahead. */
export const clockAhead = (ms: number): Clock => ({
  now,
  // oxlint-disable-next-line holdfast/clock -- records of real calls have real times
  wall: () => Date.now() + ms,
  // oxlint-disable-next-line holdfast/clock -- real services take real time
  setTimer: (fn, wait) => setTimeout(fn, wait),
  clearTimer: (timer) => clearTimeout(timer as NodeJS.Timeout),
})

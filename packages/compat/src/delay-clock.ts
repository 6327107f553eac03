import type { Clock } from 'holdfast'
import { clearTimer, wallTime } from './platform.js'

/**
 * A clock for the delays of one call. Its time advances only by the delays, because the libraries continue as soon as the timer
 * runs, also where the platform or a test runs it early; the engine would otherwise wait for the rest of the delay.
 */
export function createDelayClock(start: (fn: () => void, ms: number) => unknown): Clock {
  let elapsed = 0
  return {
    now: () => elapsed,
    wall: wallTime,
    clearTimer,
    setTimer(fn, ms) {
      const onTimer = () => {
        elapsed += ms
        fn()
      }
      return start(onTimer, ms)
    },
  }
}

import type { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '../src/index.js'
import { fakeClock } from '../src/testing/index.js'

/** A clock whose timers fire in the async context of `tick`, and that records in which context of `caller` they were set. */
export function tickingClock(caller: AsyncLocalStorage<string>) {
  const clock = fakeClock()
  const setIn: (string | undefined)[] = []
  const ticking: Clock = {
    ...clock,
    setTimer: (fn, ms) => {
      setIn.push(caller.getStore())
      return clock.setTimer(fn, ms)
    },
  }
  return { clock: ticking, setIn, tick: (ms: number) => caller.run('timer', () => clock.advance(ms)) }
}

import { allSettled, type Clock } from '../clock.js'

/** A clock that stands still until it is told to go on. */
export interface FakeClock extends Clock {
  /**
   * Lets `ms` pass: runs every timer that falls due, in order and each at its own time, and lets promises settle before,
   * between and after. Attempts that follow one another without a wait all happen before time moves; of a call that may make
   * more than a million, 15,000 of them.
   */
  advance(ms: number): Promise<void>
  /** Sets the wall clock forward, or back, as an operator or a time server does. Monotonic time does not notice. */
  stepWall(ms: number): void
}

interface FakeTimer {
  readonly dueAt: number
  readonly fn: () => void
}

/**
 * A {@link Clock} for tests: time passes when `advance` says so, and a test of hours takes milliseconds. Monotonic time
 * begins at 0, the wall clock at `wall` (the first of January 2026, unless told otherwise).
 *
 * @example
 * ```ts
 * import { guard } from 'holdfast'
 * import { fakeClock, scripted } from 'holdfast/testing'
 *
 * const clock = fakeClock()
 * const fn = scripted([new Error('down'), 'up'])
 * const answer = guard({ clock, retry: { baseDelay: '1h', maxDelay: '1h' } }).run(fn)
 * await clock.advance(3_600_000)
 * await answer // => 'up'
 * ```
 */
export function fakeClock(options: { wall?: number } = {}): FakeClock {
  let now = 0
  let offset = options.wall ?? Date.UTC(2026, 0, 1)
  const timers = new Set<FakeTimer>()

  const nextDue = (until: number): FakeTimer | undefined => {
    let first: FakeTimer | undefined
    for (const timer of timers)
      if (timer.dueAt <= until && (first === undefined || timer.dueAt < first.dueAt)) first = timer
    return first
  }

  return {
    now: () => now,
    wall: () => offset + now,
    setTimer(fn, ms) {
      const timer = { dueAt: now + (ms > 0 ? ms : 0), fn }
      timers.add(timer)
      return timer
    },
    clearTimer(handle) {
      timers.delete(handle as FakeTimer)
    },
    async advance(ms) {
      if (!(ms >= 0 && ms < Infinity)) throw new RangeError(`advance takes a number of 0 or more, got ${ms}`)
      const until = now + ms
      await allSettled()
      for (let timer = nextDue(until); timer !== undefined; timer = nextDue(until)) {
        now = Math.max(now, timer.dueAt)
        timers.delete(timer)
        timer.fn()
        await allSettled()
      }
      now = Math.max(now, until)
    },
    stepWall(ms) {
      offset += ms
    },
  }
}

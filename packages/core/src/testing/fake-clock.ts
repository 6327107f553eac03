import { type Clock, waitUntilIdle } from '../clock.js'

/** A clock that moves only when `advance` is called. */
export interface FakeClock extends Clock {
  /**
   * Advances the time by `ms`: runs every timer that becomes due, in order and at its own time, and lets promises settle
   * before, between and after. Immediate retries all run before the time moves; for a call with more than a million allowed
   * attempts, at most 15,000 of them.
   */
  advance(ms: number): Promise<void>
  /** Moves the wall clock forward or back, as an operator or a time server does. Monotonic time does not change. */
  stepWall(ms: number): void
}

interface FakeTimer {
  readonly dueAt: number
  readonly fn: () => void
}

/**
 * Creates a {@link Clock} for tests whose time moves only by `advance`, so that a test of hours takes milliseconds. Monotonic
 * time begins at 0, the wall clock at `wall` (by default 1 January 2026).
 *
 * @example
 * ```ts
 * import { guard } from 'holdfast'
 * import { fakeClock, scripted } from 'holdfast/testing'
 *
 * const clock = fakeClock()
 * const fn = scripted([new Error('down'), 'up'])
 * const result = guard({ clock, retry: { baseDelay: '1h', maxDelay: '1h' } }).run(fn)
 * await clock.advance(3_600_000)
 * await result // => 'up'
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
      if (!(ms >= 0 && ms < Infinity))
        throw new RangeError(`advance: expected a finite number that is at least 0, got ${ms}`)
      const until = now + ms
      await waitUntilIdle()
      for (let timer = nextDue(until); timer !== undefined; timer = nextDue(until)) {
        now = Math.max(now, timer.dueAt)
        timers.delete(timer)
        timer.fn()
        await waitUntilIdle()
      }
      now = Math.max(now, until)
    },
    stepWall(ms) {
      offset += ms
    },
  }
}

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { approximateStartTime, forEachInTurns, systemClock, systemRandom } from '../src/clock.js'
import { fakeClock } from '../src/testing/index.js'

const LONGEST = 2 ** 31 - 1

describe('system timers', () => {
  let clock: typeof systemClock
  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
    vi.resetModules()
    clock = (await import('../src/clock.js')).systemClock
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.resetModules() // what was loaded meanwhile has those timers for good, and other files share this process
  })

  /** Advances without running through every millisecond of a month. */
  const pass = (ms: number) => vi.advanceTimersByTime(ms)

  it('fire when they are due', () => {
    const fn = vi.fn()
    clock.setTimer(fn, 100)
    pass(99)
    expect(fn).not.toHaveBeenCalled()
    pass(1)
    expect(fn).toHaveBeenCalledTimes(1)
  })

  it.each([LONGEST, LONGEST + 1, 2 ** 32, 2 ** 32 + 5, 3 * LONGEST + 7])(
    'fire once after %d ms, not at once',
    (ms) => {
      const fn = vi.fn()
      clock.setTimer(fn, ms)
      pass(ms - 1)
      expect(fn).not.toHaveBeenCalled()
      pass(1)
      expect(fn).toHaveBeenCalledTimes(1)
      pass(LONGEST)
      expect(fn).toHaveBeenCalledTimes(1)
    },
  )

  it('never fire when set for Infinity', () => {
    const fn = vi.fn()
    clock.setTimer(fn, Number.POSITIVE_INFINITY)
    pass(10 * LONGEST)
    expect(fn).not.toHaveBeenCalled()
  })

  it('fire at the next turn for 0, a negative number and NaN', () => {
    for (const ms of [0, -5, Number.NaN]) {
      const fn = vi.fn()
      clock.setTimer(fn, ms)
      expect(fn).not.toHaveBeenCalled()
      pass(1)
      expect(fn).toHaveBeenCalledTimes(1)
    }
  })

  it('wait for a fraction of a millisecond in full', () => {
    const fn = vi.fn()
    clock.setTimer(fn, 10.4)
    pass(10)
    expect(fn).not.toHaveBeenCalled()
    pass(1)
    expect(fn).toHaveBeenCalledTimes(1)
  })

  it.each([100, LONGEST + 100, Number.POSITIVE_INFINITY])(
    'set for %d ms leave nothing behind when cleared',
    (ms) => {
      const fn = vi.fn()
      const handle = clock.setTimer(fn, ms)
      expect(vi.getTimerCount()).toBe(1)
      clock.clearTimer(handle)
      expect(vi.getTimerCount()).toBe(0)
    },
  )

  it('can be cleared between the chunks of a long delay', () => {
    const fn = vi.fn()
    const handle = clock.setTimer(fn, 2 * LONGEST)
    pass(LONGEST + 1)
    clock.clearTimer(handle)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('can be cleared twice, after they fired, and with an invalid handle', () => {
    const handle = clock.setTimer(() => {}, 10)
    pass(10)
    clock.clearTimer(handle)
    clock.clearTimer(handle)
    clock.clearTimer(undefined)
    clock.clearTimer('a timer')
    expect(vi.getTimerCount()).toBe(0)
  })

  it('fire in a test that fakes setTimeout and not performance.now', async () => {
    vi.useRealTimers()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    vi.resetModules()
    const half = (await import('../src/clock.js')).systemClock
    const fn = vi.fn()
    half.setTimer(fn, 60_000)
    pass(60_000)
    expect(fn).toHaveBeenCalledTimes(1)
  })
})

describe('the system clock', () => {
  it('never fires a timer early', async () => {
    const early = await Promise.all(
      Array.from({ length: 200 }, (_, i) => {
        const ms = 0.05 * i + 0.013
        const began = systemClock.now()
        return new Promise<number>((resolve) => {
          systemClock.setTimer(() => resolve(Math.max(0, ms - (systemClock.now() - began))), ms)
        })
      }),
    )
    expect(Math.max(...early)).toBe(0)
  })

  it('returns monotonic time and epoch time', () => {
    // oxlint-disable-next-line holdfast/clock -- the machine's own clock is what this is about
    const [before, after] = [Date.now(), performance.now()]
    expect(systemClock.wall()).toBeGreaterThanOrEqual(before)
    expect(systemClock.now()).toBeGreaterThanOrEqual(after)
  })

  it('has random numbers from 0 to below 1', () => {
    const drawn = Array.from({ length: 1000 }, () => systemRandom())
    expect(drawn.every((number) => number >= 0 && number < 1)).toBe(true)
    expect(new Set(drawn).size).toBeGreaterThan(900)
  })
})

describe('the approximate start time', () => {
  it("is read from a user's clock each time", () => {
    const clock = fakeClock()
    const now = vi.spyOn(clock, 'now')
    for (let i = 0; i < 1000; i++) approximateStartTime(clock)
    expect(now).toHaveBeenCalledTimes(1000)
  })

  it('is never from the future', () => {
    const wrong = Array.from({ length: 10_000 }, () => approximateStartTime(systemClock) > systemClock.now())
    expect(wrong).not.toContain(true)
  })

  it('never goes back', () => {
    const stamps = Array.from({ length: 10_000 }, () => approximateStartTime(systemClock))
    expect(stamps.filter((stamp, i) => stamp < (stamps[i - 1] ?? 0))).toEqual([])
  })

  it('is a new reading after at most 64 calls of a burst', () => {
    const stamps = Array.from({ length: 10_000 }, () => approximateStartTime(systemClock))
    let run = 0
    const runs = stamps.map((stamp, i) => (run = stamp === stamps[i - 1] ? run + 1 : 1))
    expect(Math.max(...runs)).toBeLessThanOrEqual(64)
  })

  it('is not shared across turns of the event loop', async () => {
    for (let i = 0; i < 200; i++) approximateStartTime(systemClock)
    const before = systemClock.now()
    await new Promise<void>((resolve) => {
      systemClock.setTimer(resolve, 5)
    })
    expect(approximateStartTime(systemClock)).toBeGreaterThanOrEqual(before)
  })
})

describe('work in turns', () => {
  it('passes each item once, in order, and gives the event loop a turn after every few of them', async () => {
    const seen: (number | 'turn')[] = []
    let next = setImmediate(function onTurn() {
      seen.push('turn')
      next = setImmediate(onTurn)
    })
    await forEachInTurns([1, 2, 3, 4, 5], 2, (item) => void seen.push(item))
    clearImmediate(next)
    expect(seen).toEqual([1, 2, 'turn', 3, 4, 'turn', 5])
  })

  it('needs no turn for few items', async () => {
    const seen: (number | 'turn')[] = []
    const turn = setImmediate(() => seen.push('turn'))
    await forEachInTurns([1, 2], 2, (item) => void seen.push(item))
    clearImmediate(turn)
    expect(seen).toEqual([1, 2])
  })

  it('rejects with the error of the function', async () => {
    const result = forEachInTurns([1, 2, 3], 1, (item) => {
      if (item === 2) throw new Error('no')
    })
    await expect(result).rejects.toThrow('no')
  })
})

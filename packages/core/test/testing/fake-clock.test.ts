import { describe, expect, it, vi } from 'vitest'
import { fakeClock } from '../../src/testing/index.js'

describe('a fake clock', () => {
  it('begins at 0, and its wall clock on 1 January 2026', () => {
    const clock = fakeClock()
    expect([clock.now(), clock.wall()]).toEqual([0, Date.UTC(2026, 0, 1)])
  })

  it('begins its wall clock at the given time', () => {
    expect(fakeClock({ wall: 5 }).wall()).toBe(5)
    expect(fakeClock({ wall: 0 }).wall()).toBe(0)
  })

  it('does not move without advance', async () => {
    const clock = fakeClock()
    const fn = vi.fn()
    clock.setTimer(fn, 0)
    await Promise.resolve()
    expect(clock.now()).toBe(0)
    expect(fn).not.toHaveBeenCalled()
  })

  it('advances both of its clocks by the given time', async () => {
    const clock = fakeClock({ wall: 1000 })
    await clock.advance(250)
    await clock.advance(0.5)
    expect([clock.now(), clock.wall()]).toEqual([250.5, 1250.5])
  })

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY])('rejects an advance by %d', async (ms) => {
    await expect(fakeClock().advance(ms)).rejects.toThrow(RangeError)
  })

  it('steps its wall clock without monotonic time', async () => {
    const clock = fakeClock({ wall: 1000 })
    const fn = vi.fn()
    clock.setTimer(fn, 100)
    clock.stepWall(3_600_000)
    clock.stepWall(-600_000)
    await clock.advance(0)
    expect([clock.now(), clock.wall()]).toEqual([0, 3_001_000])
    expect(fn).not.toHaveBeenCalled()
  })
})

describe('the timers of a fake clock', () => {
  it('fire when they are due, not before', async () => {
    const clock = fakeClock()
    const fn = vi.fn()
    clock.setTimer(fn, 100)
    await clock.advance(99.999)
    expect(fn).not.toHaveBeenCalled()
    await clock.advance(0.001)
    expect(fn).toHaveBeenCalledTimes(1)
  })

  it('fire once', async () => {
    const clock = fakeClock()
    const fn = vi.fn()
    clock.setTimer(fn, 10)
    await clock.advance(1000)
    expect(fn).toHaveBeenCalledTimes(1)
  })

  it('fire in the order in which they are due, each at its own time', async () => {
    const clock = fakeClock()
    const fired: [string, number][] = []
    for (const [name, ms] of [
      ['c', 30],
      ['a', 10],
      ['b', 20],
    ] as const)
      clock.setTimer(() => fired.push([name, clock.now()]), ms)
    await clock.advance(100)
    expect(fired).toEqual([
      ['a', 10],
      ['b', 20],
      ['c', 30],
    ])
    expect(clock.now()).toBe(100)
  })

  it('that are due at the same time fire in the order in which they were set', async () => {
    const clock = fakeClock()
    const fired: string[] = []
    clock.setTimer(() => fired.push('first'), 20)
    await clock.advance(10)
    clock.setTimer(() => fired.push('second'), 10)
    clock.setTimer(() => fired.push('third'), 10)
    await clock.advance(10)
    expect(fired).toEqual(['first', 'second', 'third'])
  })

  it('can set timers that fire in the same advance when they are due', async () => {
    const clock = fakeClock()
    const fired: number[] = []
    const again = () => {
      fired.push(clock.now())
      clock.setTimer(again, 10)
    }
    clock.setTimer(again, 10)
    await clock.advance(35)
    expect(fired).toEqual([10, 20, 30])
  })

  it('can set timers for now, which fire after those already due', async () => {
    const clock = fakeClock()
    const fired: string[] = []
    clock.setTimer(() => {
      fired.push('a')
      clock.setTimer(() => fired.push('nested'), 0)
    }, 10)
    clock.setTimer(() => fired.push('b'), 10)
    await clock.advance(10)
    expect(fired).toEqual(['a', 'b', 'nested'])
  })

  it.each([0, -5, Number.NaN])('set for %d ms are due now', async (ms) => {
    const clock = fakeClock()
    const fn = vi.fn()
    clock.setTimer(fn, ms)
    await clock.advance(0)
    expect(fn).toHaveBeenCalledTimes(1)
  })

  it('set for Infinity never fire', async () => {
    const clock = fakeClock()
    const fn = vi.fn()
    clock.setTimer(fn, Number.POSITIVE_INFINITY)
    await clock.advance(Number.MAX_SAFE_INTEGER)
    expect(fn).not.toHaveBeenCalled()
  })

  it('do not fire after they were cleared', async () => {
    const clock = fakeClock()
    const fn = vi.fn()
    clock.clearTimer(clock.setTimer(fn, 10))
    await clock.advance(100)
    expect(fn).not.toHaveBeenCalled()
  })

  it('can be cleared by another timer that is due at the same time', async () => {
    const clock = fakeClock()
    const fn = vi.fn()
    clock.setTimer(() => clock.clearTimer(handle), 10)
    const handle = clock.setTimer(fn, 10)
    await clock.advance(10)
    expect(fn).not.toHaveBeenCalled()
  })

  it('can be cleared twice, or after they fired', async () => {
    const clock = fakeClock()
    const handle = clock.setTimer(() => {}, 10)
    await clock.advance(10)
    clock.clearTimer(handle)
    clock.clearTimer(handle)
    clock.clearTimer(undefined)
    expect(clock.now()).toBe(10)
  })
})

describe('an advance of a fake clock', () => {
  it('lets promises settle first', async () => {
    const clock = fakeClock()
    const fired: number[] = []
    void Promise.resolve().then(() => clock.setTimer(() => fired.push(clock.now()), 10))
    await clock.advance(10)
    expect(fired).toEqual([10])
  })

  it('lets promises settle between timers', async () => {
    const clock = fakeClock()
    const order: string[] = []
    const setOff = async () => {
      await Promise.resolve()
      await Promise.resolve()
      order.push('what the first set off')
    }
    clock.setTimer(() => void setOff(), 10)
    clock.setTimer(() => order.push('the second'), 10)
    await clock.advance(10)
    expect(order).toEqual(['what the first set off', 'the second'])
  })

  it('lets promises settle after the last timer', async () => {
    const clock = fakeClock()
    let done = false
    const setOff = async () => {
      for (let i = 0; i < 100; i++) await Promise.resolve()
      done = true
    }
    clock.setTimer(() => void setOff(), 10)
    await clock.advance(10)
    expect(done).toBe(true)
  })

  it('runs timers that promises set in between', async () => {
    const clock = fakeClock()
    const fired: number[] = []
    const sleep = (ms: number) => new Promise<void>((resolve) => clock.setTimer(resolve, ms))
    const walk = async () => {
      for (let i = 0; i < 3; i++) {
        await sleep(10)
        fired.push(clock.now())
      }
    }
    void walk()
    await clock.advance(25)
    expect(fired).toEqual([10, 20])
  })

  it('never moves time back when advances overlap or are nested', async () => {
    const clock = fakeClock()
    await Promise.all([clock.advance(100), clock.advance(50)])
    expect(clock.now()).toBe(100)
    clock.setTimer(() => void clock.advance(50), 10)
    await clock.advance(20)
    expect(clock.now()).toBeGreaterThanOrEqual(120)
    await clock.advance(0)
    expect(clock.now()).toBe(160)
  })
})

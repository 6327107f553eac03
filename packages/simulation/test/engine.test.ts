import { describe, expect, it } from 'vitest'
import { runInMacrotask } from '../src/engine/microtasks.js'
import { EventLimitError, Scheduler } from '../src/engine/scheduler.js'
import { Choices } from '../src/engine/seeded-random.js'
import { VirtualClock } from '../src/engine/virtual-clock.js'

/** Runs twenty timers at the same time, each with a chain of promises, and returns the order of their steps. */
async function orderOfSteps(seed: number): Promise<string> {
  const scheduler = new Scheduler(new Choices(seed).random)
  const order: string[] = []
  for (let id = 0; id < 20; id++)
    scheduler.schedule(5, () => {
      order.push(`${id}`)
      void Promise.resolve()
        .then(() => {})
        .then(() => order.push(`${id}+`))
    })
  await runInMacrotask(() => scheduler.runUntil(10))
  return order.join(' ')
}

describe('scheduler', () => {
  it('runs events at their time, in order', async () => {
    const scheduler = new Scheduler(new Choices(1).random)
    const seen: number[] = []
    for (const ms of [30, 10, 20, 40]) scheduler.schedule(ms, () => seen.push(scheduler.now))
    await runInMacrotask(() => scheduler.runUntil(30))
    expect(seen).toEqual([10, 20, 30])
    expect(scheduler.now).toBe(30)
  })

  it('orders events at the same time by the seed alone', async () => {
    expect(await orderOfSteps(1)).toBe(await orderOfSteps(1))
    expect(await orderOfSteps(1)).not.toBe(await orderOfSteps(2))
  })

  it('settles all promises before the next event', async () => {
    const steps = (await orderOfSteps(3)).split(' ')
    for (let at = 0; at < steps.length; at += 2) expect(steps[at + 1]).toBe(`${steps[at]}+`)
  })

  it('skips cancelled events', async () => {
    const scheduler = new Scheduler(new Choices(1).random)
    const event = scheduler.schedule(10, () => expect.unreachable())
    scheduler.cancel(event)
    await runInMacrotask(() => scheduler.runUntil(20))
    expect(scheduler.eventCount).toBe(0)
  })

  it.each([999, 1000, 1001, 60_000])('runs an event that is due exactly at the end, %d ms', async (ms) => {
    const scheduler = new Scheduler(new Choices(1).random)
    scheduler.schedule(ms, () => {})
    await runInMacrotask(() => scheduler.runUntil(ms - 0.001))
    expect(scheduler.eventCount).toBe(0)
    await runInMacrotask(() => scheduler.runUntil(ms))
    expect(scheduler.eventCount).toBe(1)
  })

  it('runs events of near and far times in order, also those that events add and cancel', async () => {
    const choices = new Choices(5)
    const scheduler = new Scheduler(choices.fork().random)
    const waiting = new Map<object, number>()
    const seen: number[] = []
    const add = () => {
      const ms = choices.pick([0, choices.below(3), choices.below(2500), choices.below(400_000)])
      const dueAt = scheduler.now + ms
      const event = scheduler.schedule(ms, () => {
        expect(scheduler.now).toBe(dueAt)
        waiting.delete(event)
        expect(Math.min(...waiting.values())).toBeGreaterThanOrEqual(dueAt)
        seen.push(dueAt)
        if (choices.chance(0.9)) add()
        const [oldest] = waiting.keys()
        if (oldest === undefined || choices.chance(0.8)) return
        scheduler.cancel(oldest as typeof event)
        waiting.delete(oldest)
      })
      waiting.set(event, dueAt)
    }
    for (let count = 0; count < 300; count++) add()
    await runInMacrotask(() => {
      for (const end of [999.5, 1000, 1001, 70_000, 70_000, 1e7]) {
        scheduler.runUntil(end)
        expect(Math.min(...waiting.values())).toBeGreaterThan(end)
      }
    })
    expect(waiting.size).toBe(0)
    expect(seen.length).toBeGreaterThan(500)
  })
})

describe('a scheduler whose time hardly advances', () => {
  it.each([0, 0.001, 0.04])(
    'ends with an error if a timer starts itself again after %d ms',
    async (delay) => {
      const scheduler = new Scheduler(new Choices(1).random)
      const restart = () => void scheduler.schedule(delay, restart)
      restart()
      await expect(runInMacrotask(() => scheduler.runUntil(10_000))).rejects.toThrow(EventLimitError)
      expect(scheduler.now).toBeLessThan(1000)
    },
  )

  it('counts the events of each virtual second alone', async () => {
    const scheduler = new Scheduler(new Choices(1).random)
    for (let at = 0; at < 60_000; at++) scheduler.schedule(at / 10, () => {})
    await runInMacrotask(() => scheduler.runUntil(10_000))
    expect(scheduler.maxPeriodCount).toBe(10_000)
  })
})

describe('virtual clock', () => {
  it('counts the timers that wait', async () => {
    const scheduler = new Scheduler(new Choices(1).random)
    const clock = new VirtualClock(scheduler)
    const [fired, cleared] = [clock.setTimer(() => {}, 10), clock.setTimer(() => {}, 20)]
    clock.setTimer(() => {}, 30)
    clock.clearTimer(cleared)
    clock.clearTimer(cleared)
    await runInMacrotask(() => scheduler.runUntil(10.5))
    clock.clearTimer(fired)
    expect(clock.timerCount).toBe(1)
  })

  it('drifts away from virtual time', async () => {
    const scheduler = new Scheduler(new Choices(1).random)
    const clock = new VirtualClock(scheduler)
    clock.drift(2)
    let firedAt = -1
    clock.setTimer(() => {
      firedAt = scheduler.now
    }, 1000)
    await runInMacrotask(() => scheduler.runUntil(1000))
    expect(firedAt).toBeCloseTo(500, 2)
    expect(clock.now()).toBe(2000)
  })

  it('steps wall time without a change of monotonic time', () => {
    const clock = new VirtualClock(new Scheduler(new Choices(1).random))
    const [now, wall] = [clock.now(), clock.wall()]
    clock.stepWall(-3_600_000)
    expect([clock.now(), clock.wall()]).toEqual([now, wall - 3_600_000])
  })

  it('fires no timer of a stopped clock', async () => {
    const scheduler = new Scheduler(new Choices(1).random)
    const clock = new VirtualClock(scheduler)
    clock.setTimer(() => expect.unreachable(), 10)
    clock.stop()
    await runInMacrotask(() => scheduler.runUntil(20))
    expect(scheduler.now).toBe(20)
  })
})

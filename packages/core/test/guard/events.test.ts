import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type GuardEvent, guard, sessionOf } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { eventsOf, fate } from './watch.js'

const WALL = Date.UTC(2026, 0, 1)
const down = new Error('down')

describe('a guard emits', () => {
  it('one event for a success', async () => {
    const clock = fakeClock()
    const api = guard({ clock, name: 'mail' })
    const events = eventsOf(api)
    await api.run(() => 'up', { context: { tenant: 'a' } })
    expect(events).toEqual([
      { type: 'succeeded', name: 'mail', timestamp: WALL, attempt: 1, context: { tenant: 'a' } },
    ])
  })

  it('events for a failed attempt, the scheduled retry and the success after it', async () => {
    const clock = fakeClock()
    const api = guard({ clock, name: 'mail' })
    const events = eventsOf(api)
    const work = new Promise((_, reject) => clock.setTimer(() => reject(down), 20))
    const call = fate(api.run<unknown>(({ number }) => (number === 1 ? work : 'up'), { context: 7 }))
    await clock.advance(5000)
    expect(call.value).toBe('up')
    const common = { name: 'mail', context: 7 }
    expect(events).toEqual([
      { ...common, type: 'attempt_failed', timestamp: WALL + 20, attempt: 1, error: down, duration: 20 },
      {
        ...common,
        type: 'retry_scheduled',
        timestamp: WALL + 20,
        attempt: 2,
        error: down,
        maxAttempts: 3,
        delay: 1000,
      },
      { ...common, type: 'succeeded', timestamp: WALL + 1020, attempt: 2 },
    ])
  })

  it('gave_up with its reason after the last failed attempt', async () => {
    const clock = fakeClock()
    const api = guard({ clock, retry: { maxAttempts: 2, backoffType: 'immediate' } })
    const events = eventsOf(api)
    fate(api.run(() => Promise.reject(down)))
    await clock.advance(0)
    const common = { name: undefined, timestamp: WALL, context: undefined, error: down }
    expect(events).toEqual([
      { ...common, type: 'attempt_failed', attempt: 1, duration: 0 },
      { ...common, type: 'retry_scheduled', attempt: 2, maxAttempts: 2, delay: 0 },
      { ...common, type: 'attempt_failed', attempt: 2, duration: 0 },
      { ...common, type: 'gave_up', attempt: 2, stopped: 'attempts_spent' },
    ])
  })

  it('the same events for an unwanted value as for an error', async () => {
    const api = guard({
      clock: fakeClock(),
      retry: { maxAttempts: 2, backoffType: 'immediate', retryIf: () => true },
    })
    const events = eventsOf(api)
    expect(await api.run(() => 'meh')).toBe('meh')
    const common = { name: undefined, timestamp: WALL, context: undefined, value: 'meh' }
    expect(events).toEqual([
      { ...common, type: 'attempt_failed', attempt: 1, duration: 0 },
      { ...common, type: 'retry_scheduled', attempt: 2, maxAttempts: 2, delay: 0 },
      { ...common, type: 'attempt_failed', attempt: 2, duration: 0 },
      { ...common, type: 'gave_up', attempt: 2, stopped: 'unwanted_value' },
    ])
  })

  it('only gave_up for a rejection, because no attempt was made', async () => {
    const clock = fakeClock()
    const api = guard({ clock, name: 'mail', breaker: {} })
    api.breaker?.trip()
    const events = eventsOf(api)
    const call = fate(api.run(() => 'up'))
    await clock.advance(0)
    expect(events).toEqual([
      {
        type: 'gave_up',
        name: 'mail',
        timestamp: WALL,
        attempt: 1,
        context: undefined,
        error: call.error,
        stopped: 'circuit_open',
      },
    ])
  })

  it('gave_up for an abort', async () => {
    const clock = fakeClock()
    const api = guard({ clock })
    const events = eventsOf(api)
    const controller = new AbortController()
    fate(api.run(() => Promise.reject(down), { signal: controller.signal }))
    await clock.advance(100)
    controller.abort('enough')
    expect(events.map(({ type }) => type)).toEqual(['attempt_failed', 'retry_scheduled', 'gave_up'])
    expect(events[2]).toMatchObject({
      stopped: 'aborted',
      error: 'enough',
      attempt: 1,
      timestamp: WALL + 100,
    })
  })

  it('gave_up before the fallback is called', async () => {
    const order: string[] = []
    const api = guard({ clock: fakeClock(), retry: false, fallback: () => order.push('fallback') })
    api.on(({ type }) => order.push(type))
    await api.run(() => Promise.reject(down))
    expect(order).toEqual(['attempt_failed', 'gave_up', 'fallback'])
  })

  it('the state changes of its breaker', async () => {
    const clock = fakeClock()
    const api = guard({ clock, name: 'mail', retry: false, breaker: { failureThreshold: 2 } })
    const events = eventsOf(api)
    for (let i = 0; i < 2; i++) fate(api.run(() => Promise.reject(down)))
    await clock.advance(0)
    expect(events.filter(({ type }) => type === 'breaker_changed')).toEqual([
      {
        type: 'breaker_changed',
        id: 'mail',
        fromState: 'closed',
        toState: 'open',
        timestamp: WALL,
        failureCount: 2,
      },
    ])
  })

  it('the state changes of each of its keyed breakers', async () => {
    const clock = fakeClock()
    const api = guard({
      clock,
      retry: false,
      breaker: { failureThreshold: 1, key: (context) => `${context}` },
    })
    const events = eventsOf(api)
    for (const context of ['a', 'b']) fate(api.run(() => Promise.reject(down), { context }))
    await clock.advance(0)
    expect(events.filter(({ type }) => type === 'breaker_changed')).toMatchObject([{ id: 'a' }, { id: 'b' }])
  })

  it('the current wall time, although the wall clock was set', async () => {
    const clock = fakeClock()
    const api = guard({ clock })
    const events = eventsOf(api)
    fate(api.run(({ number }) => (number === 1 ? Promise.reject(down) : 'up')))
    await clock.advance(0)
    clock.stepWall(3_600_000)
    await clock.advance(1000)
    expect(events.map(({ timestamp }) => timestamp - WALL)).toEqual([0, 0, 3_601_000])
  })
})

describe('listeners', () => {
  it('are called in the order in which they were added', async () => {
    const api = guard({ clock: fakeClock() })
    const order: number[] = []
    for (const n of [1, 2, 3]) api.on(() => order.push(n))
    await api.run(() => 'up')
    expect(order).toEqual([1, 2, 3])
  })

  it('are not called after they were removed', async () => {
    const api = guard({ clock: fakeClock() })
    const heard = vi.fn()
    const off = api.on(heard)
    await api.run(() => 'up')
    off()
    await api.run(() => 'up')
    expect(heard).toHaveBeenCalledTimes(1)
  })

  it('can be removed twice without removing others', async () => {
    const api = guard({ clock: fakeClock() })
    const heard = vi.fn()
    const off = api.on(() => {})
    api.on(heard)
    off()
    off()
    await api.run(() => 'up')
    expect(heard).toHaveBeenCalledTimes(1)
  })

  it('can be one function added twice, which is called twice and removed once', async () => {
    const api = guard({ clock: fakeClock() })
    const heard = vi.fn()
    const off = api.on(heard)
    api.on(heard)
    await api.run(() => 'up')
    expect(heard).toHaveBeenCalledTimes(2)
    off()
    await api.run(() => 'up')
    expect(heard).toHaveBeenCalledTimes(3)
  })

  it('can remove themselves while they are called', async () => {
    const api = guard({ clock: fakeClock() })
    const second = vi.fn()
    const off = api.on(() => off())
    api.on(second)
    await api.run(() => 'up')
    await api.run(() => 'up')
    expect(second).toHaveBeenCalledTimes(2)
  })

  it('of one guard do not get events of another', async () => {
    const [one, other] = [guard({ clock: fakeClock() }), guard({ clock: fakeClock() })]
    const events = eventsOf(one)
    await other.run(() => 'up')
    expect(events).toEqual([])
  })

  it('that are all removed cause no event to be created', async () => {
    const clock = fakeClock()
    const wall = vi.spyOn(clock, 'wall')
    const api = guard({ clock })
    api.on(() => {})()
    await api.run(() => 'up')
    expect(wall).not.toHaveBeenCalled()
  })
})

describe('a listener that throws', () => {
  let said: ReturnType<typeof vi.spyOn>
  beforeEach(() => {
    said = vi.spyOn(console, 'error').mockImplementation(() => {})
  })
  afterEach(() => said.mockRestore())

  const bug = new Error('bug in the listener')
  const broken = () => {
    throw bug
  }

  it('does not lose the value of the call', async () => {
    const api = guard({ clock: fakeClock(), retry: { backoffType: 'immediate' } })
    api.on(() => broken())
    expect(await api.run(({ number }) => (number < 3 ? Promise.reject(down) : 'up'))).toBe('up')
  })

  it('does not lose the error and the session of the call', async () => {
    const api = guard({ clock: fakeClock(), retry: { backoffType: 'immediate' } })
    api.on(() => broken())
    await expect(api.run(() => Promise.reject(down))).rejects.toBe(down)
    expect(sessionOf(down)?.attempts).toHaveLength(3)
  })

  it('does not keep other listeners from being called', async () => {
    const api = guard({ clock: fakeClock() })
    api.on(() => broken())
    const events = eventsOf(api)
    await api.run(() => 'up')
    expect(events).toHaveLength(1)
  })

  it('is reported once, with the thrown error', async () => {
    const api = guard({ clock: fakeClock() })
    api.on(() => broken())
    for (let i = 0; i < 5; i++) await api.run(() => 'up')
    expect(said.mock.calls).toEqual([[expect.stringMatching(/a listener of a guard threw/), bug]])
  })
})

describe('a listener that aborts the call', () => {
  const abortOn = async (type: GuardEvent['type'], options = {}) => {
    const clock = fakeClock()
    const controller = new AbortController()
    const reason = new Error('enough')
    const fallback = vi.fn(() => 'instead')
    const api = guard({ clock, retry: { backoffType: 'fixed', baseDelay: 10 }, fallback, ...options })
    const events: string[] = []
    api.on((event) => {
      events.push(event.type)
      if (event.type === type) controller.abort(reason)
    })
    const fn = vi.fn(() => Promise.reject(down))
    const call = fate(api.run(fn, { signal: controller.signal }))
    await clock.advance(60_000)
    return { call, reason, events, calls: fn.mock.calls.length, fallbacks: fallback.mock.calls.length }
  }

  it('when an attempt failed ends the call there, without further events', async () => {
    const { call, reason, events, calls, fallbacks } = await abortOn('attempt_failed')
    expect(call).toEqual({ state: 'rejected', error: reason })
    expect(events).toEqual(['attempt_failed', 'gave_up'])
    expect([calls, fallbacks]).toEqual([1, 0])
  })

  it('when a retry is scheduled prevents the retry', async () => {
    const { call, reason, events, calls } = await abortOn('retry_scheduled')
    expect(call).toEqual({ state: 'rejected', error: reason })
    expect(events).toEqual(['attempt_failed', 'retry_scheduled', 'gave_up'])
    expect(calls).toBe(1)
  })

  it('when an immediate retry is scheduled prevents the retry', async () => {
    const { call, reason, calls } = await abortOn('retry_scheduled', { retry: { backoffType: 'immediate' } })
    expect(call).toEqual({ state: 'rejected', error: reason })
    expect(calls).toBe(1)
  })

  it('when the call gave up prevents the fallback', async () => {
    const { call, reason, fallbacks } = await abortOn('gave_up')
    expect(fallbacks).toBe(0)
    expect(call).toEqual({ state: 'rejected', error: reason })
  })

  it('when the breaker opens ends the call there, with each attempt once in the session', async () => {
    const { call, reason, events, calls } = await abortOn('breaker_changed', {
      breaker: { failureThreshold: 1 },
    })
    expect(call).toEqual({ state: 'rejected', error: reason })
    expect(events).toEqual(['breaker_changed', 'gave_up'])
    expect(calls).toBe(1)
    expect(sessionOf(reason)?.attempts).toHaveLength(1)
  })

  it('when the breaker half-opens prevents the attempt and leaves the probe permit free', async () => {
    const clock = fakeClock()
    const controller = new AbortController()
    const api = guard({ clock, breaker: { timeoutDuration: 1000 } })
    api.breaker?.trip()
    await clock.advance(1000)
    const off = api.on(() => controller.abort('enough'))
    const fn = vi.fn()
    const call = fate(api.run(fn, { signal: controller.signal }))
    await clock.advance(0)
    off()
    expect(call).toEqual({ state: 'rejected', error: 'enough' })
    expect(fn).not.toHaveBeenCalled()
    expect(await api.run(() => 'up')).toBe('up')
  })

  it('when the call succeeded comes too late', async () => {
    const controller = new AbortController()
    const api = guard({ clock: fakeClock() })
    api.on(() => controller.abort())
    expect(await api.run(() => 'up', { signal: controller.signal })).toBe('up')
  })

  it('when the breaker closes on its success ends the call, with one final event', async () => {
    const clock = fakeClock()
    const controller = new AbortController()
    const api = guard({ clock, breaker: { timeoutDuration: 1000 } })
    api.breaker?.trip()
    await clock.advance(1000)
    const ends: string[] = []
    api.on((event) => {
      if (event.type === 'breaker_changed' && event.toState === 'closed') controller.abort('enough')
      if (event.type === 'gave_up' || event.type === 'succeeded') ends.push(event.type)
    })
    fate(api.run(() => 'up', { signal: controller.signal }))
    await clock.advance(0)
    expect(ends).toHaveLength(1)
  })
})

describe('two listeners', () => {
  it('get events in the same order, although the first aborts the call', async () => {
    const controller = new AbortController()
    const clock = fakeClock()
    const api = guard({ clock })
    api.on(({ type }) => type === 'attempt_failed' && controller.abort())
    const events = eventsOf(api)
    fate(api.run(() => Promise.reject(down), { signal: controller.signal }))
    await clock.advance(0)
    expect(events.map(({ type }) => type)).toEqual(['attempt_failed', 'gave_up'])
  })
})

import { describe, expect, it, vi } from 'vitest'
import { CircuitBreaker, guard, isHoldfastError, sessionOf } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { errorWith, fate, rejection } from './watch.js'

const immediate = { backoffType: 'immediate' } as const
const down = () => Promise.reject(errorWith({ code: 'ECONNRESET' }))

describe('a guard around a guard whose breaker is open', () => {
  const setUp = (outer: Parameters<typeof guard>[0]) => {
    const clock = fakeClock()
    const inner = guard({ clock, name: 'inner', breaker: { timeoutDuration: 500 } })
    inner.breaker?.trip()
    const fn = vi.fn(() => 'up')
    const calls = vi.fn(() => inner.run(fn))
    const outside = guard({ clock, retry: immediate, ...outer })
    return { clock, inner, fn, calls, outside, call: fate(outside.run(calls)) }
  }

  it('does not retry the rejection', async () => {
    const { clock, call, calls } = setUp({})
    await clock.advance(0)
    expect(isHoldfastError(call.error, 'CIRCUIT_OPEN')).toBe(true)
    expect(sessionOf(call.error)?.stopped).toBe('not_retryable')
    await clock.advance(100_000)
    expect(calls).toHaveBeenCalledTimes(1)
  })

  it('does not retry an error that was caused by the rejection', async () => {
    const clock = fakeClock()
    const inner = guard({ clock, breaker: {} })
    inner.breaker?.trip()
    const fn = vi.fn(async () => {
      const cause = await rejection(inner.run(() => 'up'))
      throw new Error('could not load the page', { cause })
    })
    const call = fate(guard({ clock, retry: immediate }).run(fn))
    await clock.advance(0)
    expect(call.error).toMatchObject({ message: 'could not load the page' })
    expect(fn).toHaveBeenCalledTimes(1)
  })

  it('does not retry the rejection because retryOn lists Error', async () => {
    const { clock, calls } = setUp({ retry: { ...immediate, retryOn: [Error, 'transient', 'unknown'] } })
    await clock.advance(100_000)
    expect(calls).toHaveBeenCalledTimes(1)
  })

  it('retries the rejection when retryOn lists its code, after its retryAfter', async () => {
    const { clock, call, calls, fn } = setUp({ retry: { ...immediate, retryOn: ['CIRCUIT_OPEN'] } })
    await clock.advance(499)
    expect(calls).toHaveBeenCalledTimes(1)
    await clock.advance(1)
    expect(call).toEqual({ state: 'fulfilled', value: 'up' })
    expect(fn).toHaveBeenCalledTimes(1)
  })

  it('does not count the rejection in its own breaker', async () => {
    const { clock, outside } = setUp({ breaker: { failureThreshold: 1 } })
    await clock.advance(0)
    expect(outside.breaker).toMatchObject({ state: 'closed', failureCount: 0 })
  })
})

describe('a guard around a guard', () => {
  it('multiplies attempts', async () => {
    const fn = vi.fn(down)
    const [outer, inner] = [1, 2].map(() => guard({ clock: fakeClock(), retry: immediate }))
    await rejection(outer?.run(() => inner?.run(fn)) as Promise<unknown>)
    expect(fn).toHaveBeenCalledTimes(9)
  })

  it('retries a timeout of the inner guard', async () => {
    const clock = fakeClock()
    const inner = guard({ clock, retry: false, timeout: { total: 10 } })
    const fn = vi.fn(({ number }: { number: number }) =>
      inner.run(() => (number < 3 ? new Promise(() => {}) : 'up')),
    )
    const call = fate(guard({ clock, retry: immediate }).run(fn))
    await clock.advance(100)
    expect(call.value).toBe('up')
    expect(fn).toHaveBeenCalledTimes(3)
  })
})

describe('a breaker that is found open', () => {
  it('rejects with CIRCUIT_OPEN and retryAfter, with a new error for each caller', async () => {
    const clock = fakeClock()
    const api = guard({ clock, name: 'mail', breaker: { timeoutDuration: '30s' } })
    api.breaker?.trip()
    await clock.advance(12_000)
    const fn = vi.fn()
    const [one, other] = await Promise.all([rejection(api.run(fn)), rejection(api.run(fn))])
    expect(one).toMatchObject({ code: 'CIRCUIT_OPEN', retryAfter: 18_000 })
    expect(one).not.toBe(other)
    expect(fn).not.toHaveBeenCalled()
  })

  it('ends the call with one rejection, without a delay', async () => {
    const clock = fakeClock()
    const api = guard({ clock, retry: { maxAttempts: 9, retryOn: ['CIRCUIT_OPEN'] }, breaker: {} })
    api.breaker?.trip()
    const call = fate(api.run(() => 'up'))
    await clock.advance(0)
    expect(call.error).toMatchObject({ code: 'CIRCUIT_OPEN' })
  })
})

describe('a breaker that opens during a call', () => {
  it('ends the call at once with the error that opened it', async () => {
    const clock = fakeClock()
    const errors = [1, 2, 3].map((n) => errorWith({ code: 'ECONNRESET' }, `down ${n}`))
    const fn = vi.fn(({ number }: { number: number }) => Promise.reject(errors[number - 1]))
    const api = guard({ clock, retry: { ...immediate, maxAttempts: 9 }, breaker: { failureThreshold: 2 } })
    const call = fate(api.run(fn))
    await clock.advance(0)
    expect(call).toEqual({ state: 'rejected', error: errors[1] })
    expect(sessionOf(call.error)).toMatchObject({ stopped: 'circuit_open', attempts: { length: 2 } })
    expect(fn).toHaveBeenCalledTimes(2)
  })

  it('ends the call with attempts_spent where it was the last attempt', async () => {
    const api = guard({
      clock: fakeClock(),
      retry: { ...immediate, maxAttempts: 2 },
      breaker: { failureThreshold: 2 },
    })
    expect(sessionOf(await rejection(api.run(down)))?.stopped).toBe('attempts_spent')
  })

  it('during its delay, by another call, ends the call with its own last error after the delay', async () => {
    const clock = fakeClock()
    const error = errorWith({ code: 'ECONNRESET' })
    const fn = vi.fn(() => Promise.reject(error))
    const api = guard({ clock, breaker: {} })
    const call = fate(api.run(fn))
    await clock.advance(500)
    api.breaker?.trip()
    await clock.advance(500)
    expect(call).toEqual({ state: 'rejected', error })
    expect(sessionOf(error)).toMatchObject({ stopped: 'circuit_open', attempts: { length: 1 } })
    expect(fn).toHaveBeenCalledTimes(1)
  })

  it('is not opened by an error that is not retried and does not count', async () => {
    const api = guard({ clock: fakeClock(), breaker: { failureThreshold: 1 } })
    await rejection(api.run(() => Promise.reject(errorWith({ status: 404 }))))
    expect(api.breaker?.state).toBe('closed')
  })

  it('is opened by an error that is not retried but counts', async () => {
    const api = guard({ clock: fakeClock(), retry: { retryOn: [] }, breaker: { failureThreshold: 1 } })
    await rejection(api.run(down))
    expect(api.breaker?.state).toBe('open')
  })
})

describe('a breaker shared by guards', () => {
  it('is opened by one guard and rejects calls of the other', async () => {
    const clock = fakeClock()
    const breaker = new CircuitBreaker({ clock, id: 'shared', failureThreshold: 1 })
    const [one, other] = [guard({ clock, retry: false, breaker }), guard({ clock, breaker })]
    await rejection(one.run(down))
    expect(await rejection(other.run(() => 'up'))).toMatchObject({ code: 'CIRCUIT_OPEN' })
    expect(other.breaker).toBe(breaker)
  })
})

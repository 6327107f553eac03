import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, it, vi } from 'vitest'
import { createFetch } from '../../src/http/index.js'
import {
  CircuitBreaker,
  guard,
  RetryBudget,
  type RetryInfo,
  sessionOf,
  stopRetrying,
} from '../../src/index.js'
import { fakeClock, scripted } from '../../src/testing/index.js'
import { errorWith, fate, never, rejection } from '../guard/watch.js'

const IMMEDIATE = { maxAttempts: 3, backoffType: 'immediate' } as const
const down = (message = 'down') => errorWith({ code: 'ECONNRESET' }, message)

describe('retry.beforeRetry', () => {
  it('gets the error, the number of the next attempt, the delay and the context', async () => {
    const clock = fakeClock()
    const seen: Omit<RetryInfo, 'signal'>[] = []
    const errors = [down('first'), down('second')]
    const api = guard({
      clock,
      retry: {
        baseDelay: 100,
        beforeRetry: ({ error, attempt, delay, context, signal }) => {
          seen.push({ error, attempt, delay, context })
          expect(signal.aborted).toBe(false)
        },
      },
    })
    const call = api.run(scripted([...errors, 'up']), { context: { tenant: 7 } })
    await clock.advance(99)
    expect(seen).toEqual([])
    await clock.advance(500)
    expect(await call).toBe('up')
    expect(seen).toEqual([
      { error: errors[0], attempt: 2, delay: 100, context: { tenant: 7 } },
      { error: errors[1], attempt: 3, delay: 200, context: { tenant: 7 } },
    ])
  })

  it('is awaited before the next attempt', async () => {
    const clock = fakeClock()
    const fn = scripted([down(), 'up'])
    const beforeRetry = () => new Promise<void>((resolve) => clock.setTimer(resolve, 50))
    const call = fate(guard({ clock, retry: { ...IMMEDIATE, beforeRetry } }).run(fn))
    await clock.advance(49)
    expect(fn.calls).toBe(1)
    await clock.advance(1)
    expect(call).toEqual({ state: 'fulfilled', value: 'up' })
  })

  it('is not called where the first attempt succeeds or no retry follows', async () => {
    const beforeRetry = vi.fn()
    const api = guard({ retry: { ...IMMEDIATE, maxAttempts: 2, beforeRetry } })
    await api.run(() => 1)
    await rejection(api.run(() => Promise.reject(errorWith({ status: 404 }))))
    expect(beforeRetry).not.toHaveBeenCalled()
    await rejection(api.run(() => Promise.reject(down())))
    expect(beforeRetry).toHaveBeenCalledTimes(1)
  })

  it('ends the call with its own error, with the original as cause', async () => {
    const failure = new Error('no token')
    const original = down()
    const fn = scripted([original, 'up'])
    const api = guard({
      retry: {
        ...IMMEDIATE,
        beforeRetry: () => {
          throw failure
        },
      },
    })
    expect(await rejection(api.run(fn))).toBe(failure)
    expect(failure.cause).toBe(original)
    expect(fn.calls).toBe(1)
    expect(sessionOf(failure)).toMatchObject({ success: false, stopped: 'before_retry' })
    expect(sessionOf(failure)?.attempts).toMatchObject([{ number: 1, error: original }])
  })

  it('keeps the cause that its error has', async () => {
    const cause = new Error('refused')
    const beforeRetry = () => Promise.reject(new Error('no token', { cause }))
    const error = await rejection(guard({ retry: { ...IMMEDIATE, beforeRetry } }).run(scripted([down(), 1])))
    expect(error).toMatchObject({ message: 'no token', cause })
    expect(cause.cause).toBeUndefined()
  })

  it('can throw the original error, or one of its causes, without a circular cause', async () => {
    const root = new Error('root')
    const original = Object.assign(new Error('down', { cause: root }), { code: 'ECONNRESET' })
    const fail = () => Promise.reject(original)
    const again = guard({ retry: { ...IMMEDIATE, beforeRetry: ({ error }) => Promise.reject(error) } })
    expect(await rejection(again.run(fail))).toBe(original)
    const causes = guard({ retry: { ...IMMEDIATE, beforeRetry: () => Promise.reject(root) } })
    expect(await rejection(causes.run(fail))).toBe(root)
    expect(original.cause).toBe(root)
    expect(root.cause).toBeUndefined()
  })

  it('can throw stopRetrying, whose error ends the call', async () => {
    const closed = new Error('closed')
    const beforeRetry = () => {
      throw stopRetrying(closed)
    }
    expect(await rejection(guard({ retry: { ...IMMEDIATE, beforeRetry } }).run(scripted([down(), 1])))).toBe(
      closed,
    )
    expect(sessionOf(closed)?.stopped).toBe('before_retry')
  })

  it('leaves its error to the fallback', async () => {
    const seen: unknown[] = []
    const failure = new Error('no token')
    const api = guard({
      retry: { ...IMMEDIATE, beforeRetry: () => Promise.reject(failure) },
      fallback: (error, { attempt }) => seen.push(error, attempt) && 'cached',
    })
    expect(await api.run(scripted([down(), 'up']))).toBe('cached')
    expect(seen).toEqual([failure, 1])
  })

  it('ends with TOTAL_TIMEOUT where the total deadline passes, and its signal is aborted', async () => {
    const clock = fakeClock()
    const original = down()
    let signal: AbortSignal | undefined
    const fn = scripted([original, 'up'])
    const api = guard({
      clock,
      timeout: { attempt: 20, total: 100 },
      retry: { ...IMMEDIATE, beforeRetry: (info) => (signal = info.signal) && never() },
    })
    const call = fate(api.run(fn))
    await clock.advance(99)
    expect(call.state).toBe('pending')
    expect(signal?.aborted).toBe(false)
    await clock.advance(1)
    expect(call).toMatchObject({ state: 'rejected', error: { code: 'TOTAL_TIMEOUT', cause: original } })
    expect(signal?.reason).toBe(call.error)
    expect(sessionOf(call.error)?.stopped).toBe('deadline')
    expect(fn.calls).toBe(1)
  })

  it('ends with the reason of the caller who aborts, and its signal is aborted', async () => {
    const clock = fakeClock()
    const controller = new AbortController()
    const reason = new Error('enough')
    let signal: AbortSignal | undefined
    const fn = scripted([down(), 'up'])
    const api = guard({
      clock,
      timeout: { total: 100 },
      retry: { ...IMMEDIATE, beforeRetry: (info) => (signal = info.signal) && never() },
    })
    const call = fate(api.run(fn, { signal: controller.signal }))
    await clock.advance(10)
    controller.abort(reason)
    await clock.advance(0)
    expect(call).toEqual({ state: 'rejected', error: reason })
    expect(signal?.reason).toBe(reason)
    expect(sessionOf(reason)?.stopped).toBe('aborted')
  })

  it('is ignored when it settles after the call has ended', async () => {
    const clock = fakeClock()
    const fn = scripted([down(), 'up'])
    const late = (throws: boolean) =>
      guard({
        clock,
        timeout: { total: 50 },
        retry: {
          ...IMMEDIATE,
          beforeRetry: () =>
            new Promise<void>((resolve, reject) =>
              clock.setTimer(() => (throws ? reject(new Error('late')) : resolve()), 80),
            ),
        },
      })
    const calls = [fate(late(false).run(fn)), fate(late(true).run(scripted([down(), 'up'])))]
    await clock.advance(200)
    for (const call of calls) expect(call).toMatchObject({ error: { code: 'TOTAL_TIMEOUT' } })
    expect(fn.calls).toBe(1)
  })

  it('runs before the breaker is consulted, so that a breaker that opens meanwhile ends the call', async () => {
    const breaker = new CircuitBreaker({ id: 'b' })
    const original = down()
    const beforeRetry = vi.fn(() => breaker.trip())
    const fn = scripted([original, 'up'])
    expect(await rejection(guard({ breaker, retry: { ...IMMEDIATE, beforeRetry } }).run(fn))).toBe(original)
    expect(sessionOf(original)?.stopped).toBe('circuit_open')
    expect(beforeRetry).toHaveBeenCalledTimes(1)
    expect(fn.calls).toBe(1)
  })

  it('is not called for hedges', async () => {
    const clock = fakeClock()
    const beforeRetry = vi.fn()
    const api = guard({ clock, hedge: { delay: 10 }, retry: { ...IMMEDIATE, beforeRetry } })
    let calls = 0
    const call = api.run(() => (++calls === 1 ? never() : Promise.resolve('second')))
    await clock.advance(10)
    expect(await call).toBe('second')
    expect(beforeRetry).not.toHaveBeenCalled()
  })

  it('gets no error after a value that retryIf rejects', async () => {
    const seen: unknown[] = []
    const api = guard({
      retry: {
        ...IMMEDIATE,
        retryIf: ({ value }) => value === 'pending',
        beforeRetry: ({ error, attempt }) => seen.push(error, attempt),
      },
    })
    expect(await api.run(scripted(['pending', 'done']))).toBe('done')
    expect(seen).toEqual([undefined, 2])
  })

  it('measures the duration of an attempt from its start, without the time before it', async () => {
    const clock = fakeClock()
    const beforeRetry = () => new Promise<void>((resolve) => clock.setTimer(resolve, 70))
    const call = guard({ clock, retry: { ...IMMEDIATE, beforeRetry } }).execute(scripted([down(), 'up']))
    await clock.advance(70)
    const { session } = await call
    expect(session.attempts.map(({ duration }) => duration)).toEqual([0, 0])
    const [first, second] = session.attempts.map(({ timestamp }) => timestamp)
    expect(Number(second) - Number(first)).toBe(70)
  })

  it('applies to one call, to requests and to wrapped functions', async () => {
    const beforeRetry = vi.fn()
    await guard({ retry: IMMEDIATE }).run(scripted([down(), 1]), { retry: { beforeRetry } })
    await guard({ retry: { ...IMMEDIATE, beforeRetry } }).wrap(scripted([down(), 1]))()
    const statuses = [503, 200]
    const fetch = async () => new Response(null, { status: statuses.shift() ?? 500 })
    await createFetch({ fetch, retry: { ...IMMEDIATE, beforeRetry } })('https://api.example')
    expect(beforeRetry).toHaveBeenCalledTimes(3)
  })

  it('gives the event loop a turn after a hundred attempts without a delay', async () => {
    const controller = new AbortController()
    setImmediate(() => controller.abort(new Error('enough')))
    const api = guard({ retry: { ...IMMEDIATE, maxAttempts: Infinity, beforeRetry: () => {} } })
    const error = await rejection(api.run(() => Promise.reject(down()), { signal: controller.signal }))
    expect(error).toMatchObject({ message: 'enough' })
  })

  it.each([0, 10])('runs in the async context of the caller after a delay of %i ms', async (baseDelay) => {
    const storage = new AsyncLocalStorage<string>()
    const clock = fakeClock()
    const seen: unknown[] = []
    const api = guard({
      clock,
      timeout: { attempt: 5 },
      retry: { baseDelay, maxAttempts: 2, beforeRetry: () => seen.push(storage.getStore()) },
    })
    const calls = ['a', 'b'].map((name) => storage.run(name, () => fate(api.run(never))))
    await clock.advance(100)
    for (const call of calls) expect(call.state).toBe('rejected')
    expect(seen).toEqual(['a', 'b'])
  })

  it('must be a function', () => {
    expect(() => guard({ retry: { beforeRetry: 5 as never } })).toThrow(/retry\.beforeRetry/)
  })
})

it('returns the retry to the budget where it throws, because no attempt follows', async () => {
  const budget = new RetryBudget({ ratio: 0, reservePerSecond: 1, window: 1000, clock: fakeClock() })
  const call = (beforeRetry: () => void) =>
    guard({ budget, retry: { backoffType: 'immediate', maxAttempts: 2, beforeRetry } })
      .run(() => Promise.reject(new Error('down')))
      .catch(() => {})
  await call(() => {
    throw new Error('no token')
  })
  expect(budget.left).toBe(1)
  await call(() => {})
  expect(budget.left).toBe(0)
})

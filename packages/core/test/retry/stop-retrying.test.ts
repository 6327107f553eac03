import { describe, expect, it, vi } from 'vitest'
import { CircuitBreaker, guard, sessionOf, stopRetrying } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

const IMMEDIATE = { maxAttempts: 5, backoffType: 'immediate' } as const
const down = Object.assign(new Error('down'), { code: 'ECONNRESET' })
const rejection = (promise: Promise<unknown>) => promise.catch((error: unknown) => error)

describe('an error of stopRetrying', () => {
  it('ends the call with the given error after one attempt', async () => {
    const fn = vi.fn(async () => {
      throw stopRetrying(down)
    })
    expect(await rejection(guard({ retry: IMMEDIATE }).run(fn))).toBe(down)
    expect(fn).toHaveBeenCalledTimes(1)
    expect(sessionOf(down)).toMatchObject({ stopped: 'not_retryable', attempts: [{ error: down }] })
  })

  it('ends the call at a later attempt too, and where it was thrown synchronously by a wrapped function', async () => {
    const fn = vi.fn((): Promise<number> => {
      if (fn.mock.calls.length < 3) throw new Error('not yet')
      throw stopRetrying('plain text')
    })
    expect(await rejection(guard({ retry: IMMEDIATE }).wrap(fn)())).toBe('plain text')
    expect(fn).toHaveBeenCalledTimes(3)
  })

  it('wins over retryIf and retryOn', async () => {
    const fn = vi.fn(() => Promise.reject(stopRetrying(down)))
    await rejection(guard({ retry: { ...IMMEDIATE, retryIf: () => true, retryOn: [Error] } }).run(fn))
    expect(fn).toHaveBeenCalledTimes(1)
  })

  it('counts in the breaker as the given error', async () => {
    const breaker = new CircuitBreaker({ failureThreshold: 1 })
    await rejection(guard({ retry: IMMEDIATE, breaker }).run(() => Promise.reject(stopRetrying(down))))
    expect(breaker.state).toBe('open')
  })

  it('is retried by an outer guard, which sees the given error', async () => {
    const inner = vi.fn(() => Promise.reject(stopRetrying(down)))
    const outer = guard({ retry: { ...IMMEDIATE, maxAttempts: 2 } })
    expect(await rejection(outer.run(() => guard({ retry: IMMEDIATE }).run(inner)))).toBe(down)
    expect(inner).toHaveBeenCalledTimes(2)
  })

  it('is passed to the fallback as the given error', async () => {
    const fallback = vi.fn((error: unknown) => error)
    await guard({ fallback }).run(() => Promise.reject(stopRetrying(down)))
    expect(fallback.mock.calls[0]?.[0]).toBe(down)
  })

  it('is unwrapped by a guard with `enabled: false`', async () => {
    expect(await rejection(guard({ enabled: false }).run(() => Promise.reject(stopRetrying(down))))).toBe(
      down,
    )
  })

  it('ends the call while another parallel call of a hedge still runs, which is aborted', async () => {
    const clock = fakeClock()
    const signals: AbortSignal[] = []
    const call = rejection(
      guard({ clock, retry: IMMEDIATE, hedge: { delay: 10 } }).run(({ signal }) => {
        signals.push(signal)
        return signals.length === 1
          ? new Promise(() => {})
          : new Promise((_, reject) => clock.setTimer(() => reject(stopRetrying(down)), 5))
      }),
    )
    await clock.advance(15)
    expect(await call).toBe(down)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, expect.any(Boolean)])
  })

  it('is recognised where another installation of the package created it', async () => {
    const foreign = Object.assign(new Error('', { cause: down }), {
      [Symbol.for('holdfast.stop-retrying')]: true,
    })
    const fn = vi.fn(() => Promise.reject(foreign))
    expect(await rejection(guard({ retry: IMMEDIATE }).run(fn))).toBe(down)
    expect(fn).toHaveBeenCalledTimes(1)
  })

  it('is an Error with the given error as its cause outside of a guard', () => {
    const error = stopRetrying(down)
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({ name: 'StopRetryingError', cause: down })
  })
})

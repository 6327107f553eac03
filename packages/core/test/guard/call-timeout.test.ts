import { describe, expect, it } from 'vitest'
import { createFetch } from '../../src/http/index.js'
import { type Attempt, type CircuitBreaker, guard, type TimeoutOptions } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { fate, never } from './watch.js'

const IMMEDIATE = { maxAttempts: 2, backoffType: 'immediate' } as const

describe('the timeout of one call', () => {
  it('limits an attempt of a guard without timeouts', async () => {
    const clock = fakeClock()
    const call = fate(guard({ clock, retry: false }).run(never, { timeout: { attempt: '100ms' } }))
    await clock.advance(99)
    expect(call.state).toBe('pending')
    await clock.advance(1)
    expect(call).toMatchObject({ state: 'rejected', error: { code: 'ATTEMPT_TIMEOUT' } })
  })

  it('limits the whole call of a guard without timeouts', async () => {
    const clock = fakeClock()
    const call = fate(guard({ clock, retry: IMMEDIATE }).run(never, { timeout: { attempt: 60, total: 100 } }))
    await clock.advance(99)
    expect(call.state).toBe('pending')
    await clock.advance(1)
    expect(call).toMatchObject({ state: 'rejected', error: { code: 'TOTAL_TIMEOUT' } })
  })

  it.each([
    ['a shorter attempt', { attempt: 30 }, 30, 'ATTEMPT_TIMEOUT'],
    ['a longer attempt', { attempt: 300 }, 300, 'ATTEMPT_TIMEOUT'],
    ['a shorter total, with the attempt of the guard', { total: 50 }, 50, 'TOTAL_TIMEOUT'],
    ['a longer total, with the attempt of the guard', { total: 5000 }, 100, 'ATTEMPT_TIMEOUT'],
    ['no attempt, with the total of the guard', { attempt: Infinity }, 1000, 'TOTAL_TIMEOUT'],
  ])('replaces only the given timeout of the guard: %s', async (_, timeout, expectedMs, code) => {
    const clock = fakeClock()
    const api = guard({ clock, retry: false, timeout: { attempt: 100, total: 1000 } })
    const call = fate(api.run(never, { timeout }))
    await clock.advance(expectedMs - 1)
    expect(call.state).toBe('pending')
    await clock.advance(1)
    expect(call).toMatchObject({ state: 'rejected', error: { code } })
  })

  it('applies to every attempt', async () => {
    const clock = fakeClock()
    const numbers: number[] = []
    const api = guard({ clock, retry: IMMEDIATE, timeout: { attempt: 100 } })
    const call = fate(
      api.run(({ number }: Attempt) => numbers.push(number) && never(), { timeout: { attempt: 40 } }),
    )
    await clock.advance(40)
    expect(numbers).toEqual([1, 2])
    await clock.advance(40)
    expect(call).toMatchObject({ state: 'rejected', error: { code: 'ATTEMPT_TIMEOUT' } })
  })

  it('removes the timeouts of the guard where it is false', async () => {
    const clock = fakeClock()
    const api = guard({ clock, retry: false, timeout: { attempt: 100, total: 1000 } })
    const call = fate(api.run(never, { timeout: false }))
    await clock.advance(3_600_000)
    expect(call.state).toBe('pending')
  })

  it('does not change other calls of the guard', async () => {
    const clock = fakeClock()
    const api = guard({ clock, retry: false, timeout: { attempt: 100 } })
    const [short, normal, endless] = [
      fate(api.run(never, { timeout: { attempt: 10 } })),
      fate(api.run(never)),
      fate(api.run(never, { timeout: false })),
    ]
    await clock.advance(10)
    expect([short.state, normal.state, endless.state]).toEqual(['rejected', 'pending', 'pending'])
    await clock.advance(90)
    expect([short.state, normal.state, endless.state]).toEqual(['rejected', 'rejected', 'pending'])
  })

  it('is the lease of a probe', async () => {
    const clock = fakeClock()
    const breaker = { failureThreshold: 1, timeoutDuration: 1000 }
    const api = guard({ clock, retry: false, breaker, timeout: { attempt: 100 } })
    ;(api.breaker as CircuitBreaker).trip()
    await clock.advance(1000)
    const probe = fate(api.run(never, { timeout: { attempt: 5000 } }))
    await clock.advance(4999)
    expect(probe.state).toBe('pending')
    await expect(api.run(() => 'another probe')).rejects.toMatchObject({ code: 'CIRCUIT_OPEN' })
  })

  it.each([
    ['a wrong value', { attempt: 0 }, /timeout\.attempt: expected .*, got 0/],
    ['an unknown key', { each: 5 }, /timeout\.each: expected .*, got an unknown option/],
    ['a number', 500, /timeout: expected an object, or false, got 500/],
    ['null', null, /timeout: expected an object, or false, got null/],
  ])('is rejected where it is invalid: %s', async (_, timeout, message) => {
    const error = await guard()
      .run(never, { timeout: timeout as TimeoutOptions })
      .catch((thrown) => thrown)
    expect(error).toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringMatching(message) })
  })
})

describe('the timeout of one request', () => {
  const hanging = (_: unknown, init?: RequestInit) =>
    new Promise<Response>((_, reject) =>
      init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)),
    )

  it('ends the request and aborts the fetch function', async () => {
    const clock = fakeClock()
    let signal: AbortSignal | null | undefined
    const fetch = createFetch({
      clock,
      retry: false,
      fetch: (url, init) => {
        signal = init?.signal
        return hanging(url, init)
      },
    })
    const request = fate(fetch('http://api.example/', { timeout: { attempt: 50 } }))
    await clock.advance(50)
    expect(request).toMatchObject({ state: 'rejected', error: { code: 'ATTEMPT_TIMEOUT' } })
    expect(signal?.aborted).toBe(true)
  })

  it('removes the timeouts of the fetch where it is false', async () => {
    const clock = fakeClock()
    const fetch = createFetch({ clock, retry: false, timeout: { attempt: 50 }, fetch: hanging })
    const request = fate(fetch('http://api.example/', { timeout: false }))
    await clock.advance(3_600_000)
    expect(request.state).toBe('pending')
  })

  it('is not passed to the fetch function, but a timeout that is not an object is', async () => {
    const inits: unknown[] = []
    const fetch = createFetch({
      fetch: async (_, init) => {
        inits.push((init as { timeout?: unknown }).timeout)
        return new Response()
      },
    })
    await fetch('http://api.example/', { timeout: { total: 5000 } })
    await fetch('http://api.example/', { timeout: 5000 } as never)
    await fetch('http://api.example/', { timeout: false })
    await fetch('http://api.example/', { timeout: null } as never)
    expect(inits).toEqual([undefined, 5000, false, null])
  })

  it('is rejected where it is invalid', async () => {
    const fetch = createFetch({ fetch: hanging })
    await expect(fetch('http://api.example/', { timeout: { attempt: -1 } })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    })
  })
})

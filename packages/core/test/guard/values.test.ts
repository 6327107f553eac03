import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { guard, type Outcome, type RetryOptions } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { fate } from './watch.js'

const immediate = { backoffType: 'immediate' } as const
const unwanted = (retry: RetryOptions = {}): RetryOptions => ({
  ...immediate,
  retryIf: ({ value }) => (value as { ok?: boolean } | undefined)?.ok === false,
  ...retry,
})

describe('a value that retryIf rejects', () => {
  it('is retried, and the accepted value is returned', async () => {
    const api = guard({ clock: fakeClock(), retry: unwanted() })
    expect(await api.run(({ number }) => ({ ok: number === 3, number }))).toEqual({ ok: true, number: 3 })
  })

  it('is returned when no attempts are left: the last one', async () => {
    const api = guard({ clock: fakeClock(), retry: unwanted() })
    expect(await api.run(({ number }) => ({ ok: false, number }))).toEqual({ ok: false, number: 3 })
  })

  it('is returned when no time is left for the delay', async () => {
    const api = guard({
      clock: fakeClock(),
      timeout: { total: 100 },
      retry: unwanted({ backoffType: 'fixed', baseDelay: 200 }),
    })
    expect(await api.run(({ number }) => ({ ok: false, number }))).toEqual({ ok: false, number: 1 })
  })

  it('is followed by a delay, like an error', async () => {
    const clock = fakeClock()
    const began: number[] = []
    const api = guard({ clock, retry: unwanted({ backoffType: 'linear', baseDelay: 50 }) })
    fate(
      api.run(() => {
        began.push(clock.now())
        return { ok: false }
      }),
    )
    await clock.advance(1000)
    expect(began).toEqual([0, 50, 150])
  })

  it('can be followed by an error, which is thrown', async () => {
    const api = guard({ clock: fakeClock(), retry: unwanted() })
    const error = new TypeError('bug')
    await expect(
      api.run<unknown>(({ number }) => (number === 1 ? { ok: false } : Promise.reject(error))),
    ).rejects.toBe(error)
  })

  it('is returned at once where abortOn lists it', async () => {
    const fn = vi.fn(() => ({ ok: false }))
    const abortOn = [(value: unknown) => (value as { ok?: boolean }).ok === false]
    expect(await guard({ clock: fakeClock(), retry: unwanted({ abortOn }) }).run(fn)).toEqual({ ok: false })
    expect(fn).toHaveBeenCalledTimes(1)
  })

  it('is decided by retryIf alone: a value is never retried by retryOn or its classification', async () => {
    const fn = vi.fn(() => new Response(null, { status: 503 }))
    const api = guard({ clock: fakeClock(), retry: { ...immediate, retryOn: ['server_error'] } })
    expect((await api.run(fn)).status).toBe(503)
    expect(fn).toHaveBeenCalledTimes(1)
  })

  it('is returned after one attempt when retries are off', async () => {
    const api = guard({ clock: fakeClock(), retry: false })
    expect(await api.run(() => ({ ok: false }))).toEqual({ ok: false })
  })
})

describe('retryIf', () => {
  it('gets the value and the number of the attempt, and no error', async () => {
    const seen: Outcome[] = []
    const api = guard({
      clock: fakeClock(),
      retry: { ...immediate, retryIf: (outcome) => seen.push(outcome) < 2 },
    })
    await api.run(({ number }) => `value ${number}`)
    expect(seen).toEqual([
      { value: 'value 1', attempt: 1 },
      { value: 'value 2', attempt: 2 },
    ])
    expect(seen[0]).not.toHaveProperty('error')
  })

  it('must return true: a promise of true does not cause a retry', async () => {
    const fn = vi.fn(() => 'up')
    const retryIf = (async () => true) as unknown as () => boolean
    expect(await guard({ clock: fakeClock(), retry: { ...immediate, retryIf } }).run(fn)).toBe('up')
    expect(fn).toHaveBeenCalledTimes(1)
  })

  it('is called with undefined too', async () => {
    const api = guard({
      clock: fakeClock(),
      retry: { ...immediate, retryIf: ({ value }) => value === undefined },
    })
    expect(await api.run(({ number }) => (number === 2 ? 'up' : undefined))).toBe('up')
  })
})

describe('a retryIf that throws', () => {
  let said: ReturnType<typeof vi.spyOn>
  beforeEach(() => {
    said = vi.spyOn(console, 'error').mockImplementation(() => {})
  })
  afterEach(() => said.mockRestore())

  it('does not lose the value, and is reported once', async () => {
    const bug = new Error('bug')
    const retryIf = () => {
      throw bug
    }
    const api = guard({ clock: fakeClock(), retry: { retryIf } })
    expect(await api.run(() => 'up')).toBe('up')
    expect(await api.run(() => 'up')).toBe('up')
    expect(said.mock.calls).toEqual([[expect.stringMatching(/retryIf threw/), bug]])
  })
})

describe('for the breaker an unwanted value', () => {
  const after = async (value: unknown, times = 3) => {
    const clock = fakeClock()
    const api = guard({
      clock,
      retry: { ...immediate, maxAttempts: times, retryIf: () => true },
      breaker: { failureThreshold: 2 },
    })
    fate(api.run(() => value))
    await clock.advance(100_000)
    return api.breaker
  }

  it('is a failure when it has a status that an error would fail with', async () => {
    expect(await after(new Response(null, { status: 503 }))).toMatchObject({ state: 'open' })
    expect(await after({ status: 500 })).toMatchObject({ state: 'open' })
  })

  it('is not a failure when it has another status', async () => {
    expect(await after(new Response(null, { status: 404 }))).toMatchObject({
      state: 'closed',
      failureCount: 0,
    })
    expect(await after({ status: 429 })).toMatchObject({ state: 'closed', failureCount: 0 })
    expect(await after({ status: 200 })).toMatchObject({ state: 'closed', failureCount: 0 })
  })

  it('is not a failure when it has no status', async () => {
    expect(await after({ ok: false })).toMatchObject({ state: 'closed', failureCount: 0 })
    expect(await after(undefined)).toMatchObject({ state: 'closed', failureCount: 0 })
  })

  it('that opens it is returned', async () => {
    const fn = vi.fn(() => new Response(null, { status: 503 }))
    const api = guard({
      clock: fakeClock(),
      retry: { ...immediate, maxAttempts: 9, retryIf: () => true },
      breaker: { failureThreshold: 2 },
    })
    expect((await api.run(fn)).status).toBe(503)
    expect(fn).toHaveBeenCalledTimes(2)
  })
})

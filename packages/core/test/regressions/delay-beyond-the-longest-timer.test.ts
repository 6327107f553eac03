// A platform timer set for more than 2^31-1 ms, or for Infinity, fires at once.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { fate, never } from '../guard/watch.js'

const DAY = 86_400_000
let guard: typeof import('../../src/index.js').guard

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
  vi.resetModules()
  guard = (await import('../../src/index.js')).guard
})
afterEach(() => {
  vi.useRealTimers()
})

describe('on the system clock', () => {
  it.each([25, 60, 365])('a delay of %d days ends in time', async (days) => {
    const fn = vi.fn(() => Promise.reject(new Error('down')))
    const wait = days * DAY
    fate(guard({ retry: { maxAttempts: 2, baseDelay: wait, maxDelay: wait } }).run(fn))
    await vi.advanceTimersByTimeAsync(wait - 1)
    expect(fn).toHaveBeenCalledTimes(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(fn).toHaveBeenCalledTimes(2)
  })

  it('an infinite delay does not end', async () => {
    const fn = vi.fn(() => Promise.reject(new Error('down')))
    const maxDelay = Number.POSITIVE_INFINITY
    fate(guard({ retry: { maxDelay, backoffType: () => Number.POSITIVE_INFINITY } }).run(fn))
    await vi.advanceTimersByTimeAsync(400 * DAY)
    expect(fn).toHaveBeenCalledTimes(1)
  })

  it.each([
    ['attempt', { attempt: '60d' }],
    ['total', { total: '60d' }],
  ] as const)('a timeout of 60 days for the %s expires in time', async (_, timeout) => {
    const call = fate(guard({ retry: false, timeout }).run(never))
    await vi.advanceTimersByTimeAsync(60 * DAY - 1)
    expect(call.state).toBe('pending')
    await vi.advanceTimersByTimeAsync(1)
    expect(call.state).toBe('rejected')
  })

  it('a timeout of Infinity does not expire', async () => {
    const timeout = { attempt: Number.POSITIVE_INFINITY, total: Number.POSITIVE_INFINITY }
    const call = fate(guard({ timeout }).run(never))
    await vi.advanceTimersByTimeAsync(400 * DAY)
    expect(call.state).toBe('pending')
  })
})

import { describe, expect, it, vi } from 'vitest'
import { guard, type RetryOptions, sessionOf } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { eventsOf, fate, rejection } from './watch.js'

const down = () => Promise.reject(new Error('down'))

/** The start times of the attempts of a call with a guard's retry options and its own. */
async function beginnings(given: RetryOptions | false, retry: RetryOptions | false | undefined) {
  const clock = fakeClock()
  const began: number[] = []
  fate(
    guard({ clock, retry: given }).run(
      () => {
        began.push(clock.now())
        return down()
      },
      { retry },
    ),
  )
  await clock.advance(1_000_000)
  return began
}

describe('the retry option of one call', () => {
  it('changes the given options and keeps the others', async () => {
    const given: RetryOptions = { maxAttempts: 2, backoffType: 'linear', baseDelay: 100 }
    expect(await beginnings(given, { maxAttempts: 4 })).toEqual([0, 100, 300, 600])
  })

  it('changes nothing when it is undefined or empty', async () => {
    expect(await beginnings({ maxAttempts: 2, baseDelay: 100 }, undefined)).toEqual([0, 100])
    expect(await beginnings({ maxAttempts: 2, baseDelay: 100 }, {})).toEqual([0, 100])
    expect(
      await beginnings({ maxAttempts: 2, baseDelay: 100 }, { maxAttempts: undefined } as object),
    ).toEqual([0, 100])
  })

  it('allows one attempt when it is false', async () => {
    expect(await beginnings({ maxAttempts: 5 }, false)).toEqual([0])
  })

  it('adds retries to a guard that has none', async () => {
    expect(await beginnings(false, { maxAttempts: 2, baseDelay: 70 })).toEqual([0, 70])
  })

  it('applies to one call only', async () => {
    const clock = fakeClock()
    const api = guard({ clock, retry: { maxAttempts: 2, backoffType: 'immediate' } })
    const fn = vi.fn(down)
    await rejection(api.run(fn, { retry: { maxAttempts: 5 } }))
    expect(fn).toHaveBeenCalledTimes(5)
    await rejection(api.run(fn))
    expect(fn).toHaveBeenCalledTimes(7)
  })

  it('is shown in the events', async () => {
    const api = guard({ clock: fakeClock(), retry: { maxAttempts: 2, backoffType: 'immediate' } })
    const events = eventsOf(api)
    await rejection(api.run(down, { retry: { maxAttempts: 4 } }))
    expect(events.find(({ type }) => type === 'retry_scheduled')).toMatchObject({ maxAttempts: 4 })
  })

  it("replaces the guard's lists", async () => {
    expect(await beginnings({ abortOn: ['Error'], baseDelay: 10 }, { abortOn: [] })).toHaveLength(3)
    expect(await beginnings({ baseDelay: 10 }, { retryOn: [] })).toHaveLength(1)
  })

  it("keeps the guard's lists where it does not give them", async () => {
    expect(await beginnings({ abortOn: ['Error'] }, { maxAttempts: 5 })).toHaveLength(1)
    expect(await beginnings({ retryOn: [] }, { maxAttempts: 5 })).toHaveLength(1)
  })

  it('can add a retryIf', async () => {
    const api = guard({ clock: fakeClock(), retry: { backoffType: 'immediate' } })
    const value = await api.run(({ number }) => number, { retry: { retryIf: ({ value }) => value !== 3 } })
    expect(value).toBe(3)
  })

  it("that is false does not call the guard's retryIf", async () => {
    const retryIf = vi.fn(() => true)
    const api = guard({ clock: fakeClock(), retry: { retryIf } })
    expect(await api.run(() => 'meh', { retry: false })).toBe('meh')
    expect(retryIf).not.toHaveBeenCalled()
  })

  it('can be the same object again, which can be changed in between', async () => {
    const api = guard({ clock: fakeClock(), retry: { backoffType: 'immediate' } })
    const retry: RetryOptions = { maxAttempts: 2 }
    const fn = vi.fn(down)
    const call = rejection(api.run(fn, { retry }))
    retry.maxAttempts = 9
    await call
    expect(fn).toHaveBeenCalledTimes(2)
  })
})

describe('an invalid retry option of one call', () => {
  it.each([
    ['a wrong value', { maxAttempts: 0 }, /retry\.maxAttempts: expected .*, got 0/],
    ['an unknown option', { retries: 3 }, /retry\.retries: expected one of .*, got an unknown option/],
    ['null', null, /retry: expected an object, or false, got null/],
    ['true', true, /retry: expected an object, or false, got true/],
    ['an array', [], /retry: expected an object, got an array/],
    [
      'a base above the cap',
      { baseDelay: '1h' },
      /retry\.maxDelay: expected at least baseDelay \(3600000\), got 30000/,
    ],
  ])('rejects with INVALID_OPTIONS and calls nothing: %s', async (_, retry, message) => {
    const fn = vi.fn()
    const error = await rejection(guard({ name: 'mail' }).run(fn, { retry: retry as RetryOptions }))
    expect(error).toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringMatching(message) })
    expect(fn).not.toHaveBeenCalled()
    expect(sessionOf(error)).toBeUndefined()
  })

  it('lists every problem', async () => {
    const retry = { maxAttempts: 0, jitterAmount: 2, surplus: 1 } as RetryOptions
    expect(await rejection(guard().run(down, { retry }))).toMatchObject({ details: { length: 3 } })
  })
})

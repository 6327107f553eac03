import { describe, expect, it } from 'vitest'
import { type Attempt, type GuardOptions, guard, sessionOf } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { fate, thenable } from './watch.js'

/** Options with which a call takes the fast path, or is an execution from the start. */
const PATHS: [string, GuardOptions][] = [
  ['on the quick path', {}],
  ['when watched', { timeout: { attempt: 1000, total: 5000 } }],
  ['with retries off', { retry: false }],
  ['when disabled', { enabled: false }],
]

describe.each(PATHS)('run, %s', (_, options) => {
  const make = () => guard({ clock: fakeClock(), ...options })

  it.each([
    ['an asynchronous value', async () => 'yes', 'yes'],
    ['a plain value', () => 'yes', 'yes'],
    ['a thenable', () => thenable<string>((resolve) => resolve('yes')), 'yes'],
    ['a thenable of a promise', () => thenable<unknown>((resolve) => resolve(Promise.resolve('yes'))), 'yes'],
    ['undefined', () => undefined, undefined],
    ['null', async () => null, null],
    ['false', () => false, false],
    ['an Error that is returned, not thrown', () => RangeError, RangeError],
  ])('returns %s', async (_what, fn, value) => {
    expect(await make().run<unknown>(fn)).toBe(value)
  })

  it('always returns a new promise', () => {
    expect(make().run(() => 1)).toBeInstanceOf(Promise)
  })

  it.each([
    ['an error thrown synchronously', new TypeError('bug')],
    ['a string', 'down'],
    ['a number', 0],
    ['null', null],
    ['undefined', undefined],
    ['an object', { status: 404 }],
    ['a symbol', Symbol('x')],
  ])('rejects with the thrown %s unchanged', async (_what, thrown) => {
    const call = fate(
      make().run(() => {
        throw thrown
      }),
    )
    await fakeClock().advance(0)
    expect(call).toEqual({ state: 'rejected', error: thrown })
  })

  it.each([
    ['a permanent error', new TypeError('bug')],
    ['a string', 'down'],
    ['undefined', undefined],
  ])('rejects with %s unchanged', async (_what, reason) => {
    const call = fate(make().run(() => Promise.reject(reason)))
    await fakeClock().advance(0)
    expect(call).toEqual({ state: 'rejected', error: reason })
  })

  it('rejects with the error of a thenable', async () => {
    const reason = new TypeError('bug')
    await expect(make().run(() => thenable((_, reject) => reject(reason)))).rejects.toBe(reason)
  })

  it('rejects with the error of a throwing `then` getter', async () => {
    const reason = new TypeError('bug')
    // oxlint-disable-next-line unicorn/no-thenable -- that is what this is about
    const trap = Object.defineProperty({}, 'then', {
      get: () => {
        throw reason
      },
    })
    await expect(make().run(() => trap)).rejects.toBe(reason)
  })

  it('calls the function at once, in the same turn', () => {
    let called = false
    void make().run(() => {
      called = true
    })
    expect(called).toBe(true)
  })

  it('passes the function one attempt, number 1, whose signal is not aborted', async () => {
    let given: unknown[] = []
    await make().run((...args: Attempt[]) => {
      given = args
    })
    expect(given).toHaveLength(1)
    const [attempt] = given as [Attempt]
    expect(attempt.number).toBe(1)
    expect(attempt.signal).toBeInstanceOf(AbortSignal)
    expect(attempt.signal).toBe(attempt.signal)
    expect(attempt.signal.aborted).toBe(false)
  })
})

describe('a retried run', () => {
  it('numbers attempts from 1 and passes each a new attempt object', async () => {
    const attempts: Attempt[] = []
    await guard({ clock: fakeClock(), retry: { backoffType: 'immediate' } }).run((attempt) => {
      attempts.push(attempt)
      if (attempt.number < 3) throw new Error('down')
    })
    expect(attempts.map(({ number }) => number)).toEqual([1, 2, 3])
    expect(new Set(attempts.map(({ signal }) => signal)).size).toBe(3)
  })

  it('returns the value of the attempt that succeeded', async () => {
    const api = guard({ clock: fakeClock(), retry: { backoffType: 'immediate' } })
    const value = await api.run(({ number }) => (number < 2 ? Promise.reject(new Error('down')) : { number }))
    expect(value).toEqual({ number: 2 })
  })

  it('rejects with the error of the last attempt, not of the first', async () => {
    const api = guard({ clock: fakeClock(), retry: { backoffType: 'immediate' } })
    await expect(api.run(({ number }) => Promise.reject(new Error(`down ${number}`)))).rejects.toThrow(
      'down 3',
    )
  })

  it('does not change the error', async () => {
    const error = new Error('down')
    const before = Object.getOwnPropertyNames(error)
    await guard({ clock: fakeClock(), retry: { backoffType: 'immediate' } })
      .run(() => Promise.reject(error))
      .catch(() => {})
    expect(Object.getOwnPropertyNames(error)).toEqual(before)
    expect(Object.getOwnPropertySymbols(error)).toEqual([])
  })

  it('ignores the result of an attempt that is no longer awaited', async () => {
    const clock = fakeClock()
    const api = guard({
      clock,
      timeout: { attempt: 100 },
      retry: { maxAttempts: 2, backoffType: 'immediate' },
    })
    const answer = api.run(({ number }) =>
      number === 1 ? new Promise((resolve) => clock.setTimer(() => resolve('late'), 150)) : 'second',
    )
    await clock.advance(200)
    expect(await answer).toBe('second')
  })
})

describe('a guard', () => {
  it('has its name', () => {
    expect([guard({ name: 'mail' }).name, guard().name]).toEqual(['mail', undefined])
  })

  it('has no breaker by default', () => {
    expect([guard().breaker, guard().breakers, guard({ breaker: false }).breaker]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })

  it('retries by default after 1 s and 2 s', async () => {
    const clock = fakeClock()
    const began: number[] = []
    const call = fate(
      guard({ clock }).run(() => {
        began.push(clock.now())
        throw new Error('down')
      }),
    )
    await clock.advance(60_000)
    expect(call.state).toBe('rejected')
    expect(began).toEqual([0, 1000, 3000])
  })

  it('that is disabled does not retry, reject, wait or attach a session', async () => {
    const clock = fakeClock()
    const error = new Error('down')
    let calls = 0
    const off = guard({
      clock,
      enabled: false,
      breaker: { failureThreshold: 1 },
      fallback: () => 'instead',
      timeout: { attempt: 1 },
    })
    for (let i = 0; i < 3; i++) {
      await off
        .run(() => {
          calls++
          throw error
        })
        .catch(() => {})
    }
    expect(calls).toBe(3)
    expect(off.breaker?.state).toBe('closed')
    expect(sessionOf(error)).toBeUndefined()
  })

  it('that is disabled emits no events', async () => {
    const off = guard({ enabled: false })
    const events: unknown[] = []
    off.on((event) => events.push(event))
    await off.run(() => 1)
    expect(events).toEqual([])
  })
})

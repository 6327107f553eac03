import { describe, expect, it } from 'vitest'
import { type GuardOptions, guard, HoldfastError, type Session, sessionOf } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { errorWith, fate, never, rejection } from './watch.js'

const WALL = Date.UTC(2026, 0, 1)
const immediate = { backoffType: 'immediate' } as const

describe('the session of a call that failed', () => {
  it('has every attempt with its time, delay, duration, outcome and error', async () => {
    const clock = fakeClock()
    const errors = [new Error('one'), new Error('two'), new Error('three')]
    const api = guard({ clock, name: 'mail' })
    const call = fate(
      api.run(
        ({ number }) =>
          new Promise((_, reject) => clock.setTimer(() => reject(errors[number - 1]), number * 10)),
      ),
    )
    await clock.advance(60_000)
    expect(call.error).toBe(errors[2])
    expect(sessionOf(call.error)).toEqual({
      operation: 'mail',
      success: false,
      stopped: 'attempts_spent',
      attempts: [
        { number: 1, timestamp: WALL, delay: 0, duration: 10, outcome: 'failure', error: errors[0] },
        {
          number: 2,
          timestamp: WALL + 1010,
          delay: 1000,
          duration: 20,
          outcome: 'failure',
          error: errors[1],
        },
        {
          number: 3,
          timestamp: WALL + 3030,
          delay: 2000,
          duration: 30,
          outcome: 'failure',
          error: errors[2],
        },
      ],
    })
  })

  it('has no operation where the guard has no name', async () => {
    const error = await rejection(guard({ retry: false }).run(() => Promise.reject(new Error('down'))))
    expect(sessionOf(error)).not.toHaveProperty('operation')
  })

  it('has the HTTP status of an attempt', async () => {
    const error = errorWith({ status: 404 })
    await rejection(guard({ clock: fakeClock() }).run(() => Promise.reject(error)))
    expect(sessionOf(error)?.attempts).toMatchObject([{ statusCode: 404, outcome: 'failure' }])
  })

  it('distinguishes a timeout reported by the server from a failure', async () => {
    const error = errorWith({ code: 'ETIMEDOUT' })
    await rejection(guard({ clock: fakeClock(), retry: false }).run(() => Promise.reject(error)))
    expect(sessionOf(error)?.attempts).toMatchObject([{ outcome: 'timeout' }])
  })

  it('has attempts with an unwanted value, without an error', async () => {
    const error = new Error('down')
    const retry = { ...immediate, retryIf: ({ value }: { value?: unknown }) => value === 'meh' }
    const api = guard({ clock: fakeClock(), retry })
    await rejection(api.run(({ number }) => (number === 1 ? 'meh' : Promise.reject(error))))
    const [first, second] = sessionOf(error)?.attempts ?? []
    expect(first).toEqual({ number: 1, timestamp: WALL, delay: 0, duration: 0, outcome: 'failure' })
    expect(second).toMatchObject({ number: 2, error })
  })

  it('uses one wall clock offset although the clock is set in between', async () => {
    const clock = fakeClock()
    const error = new Error('down')
    fate(guard({ clock, retry: { maxAttempts: 2 } }).run(() => Promise.reject(error)))
    await clock.advance(500)
    clock.stepWall(-3_600_000)
    await clock.advance(500)
    expect(sessionOf(error)?.attempts.map(({ timestamp }) => timestamp - WALL)).toEqual([0, 1000])
  })

  it.each([
    ['on the quick path', {}],
    ['when watched', { timeout: { attempt: 1000 } }],
  ])('has the notes of each attempt, %s', async (_, options: GuardOptions) => {
    const error = new Error('down')
    const api = guard({ clock: fakeClock(), retry: { ...immediate, maxAttempts: 2 }, ...options })
    await rejection(
      api.run((attempt) => {
        attempt.note({ host: 'a', try: attempt.number })
        attempt.note({ host: `b${attempt.number}` })
        throw error
      }),
    )
    expect(sessionOf(error)?.attempts.map(({ context }) => context)).toEqual([
      { host: 'b1', try: 1 },
      { host: 'b2', try: 2 },
    ])
  })

  it('has no context where nothing was noted', async () => {
    const error = new Error('down')
    await rejection(guard({ retry: false }).run(() => Promise.reject(error)))
    expect(sessionOf(error)?.attempts[0]).not.toHaveProperty('context')
  })
})

describe('the reason why a call stopped', () => {
  const stoppedBy = async (
    options: GuardOptions,
    fn: (attempt: { number: number }) => unknown,
    signal?: AbortSignal,
  ): Promise<Session['stopped'] | undefined> => {
    const clock = fakeClock()
    const call = fate(guard({ clock, ...options }).run(fn, { signal }))
    await clock.advance(100_000)
    return sessionOf(call.error)?.stopped
  }
  const down = () => Promise.reject(new Error('down'))

  it('is attempts_spent', async () => {
    expect(await stoppedBy({}, down)).toBe('attempts_spent')
  })

  it('is attempts_spent when retries are off', async () => {
    expect(await stoppedBy({ retry: false }, down)).toBe('attempts_spent')
  })

  it('is not_retryable', async () => {
    expect(await stoppedBy({}, () => Promise.reject(new TypeError('bug')))).toBe('not_retryable')
  })

  it('is deadline when the call took too long', async () => {
    expect(await stoppedBy({ timeout: { total: 10 } }, never)).toBe('deadline')
  })

  it('is deadline when no time was left for the delay', async () => {
    expect(await stoppedBy({ timeout: { total: 10 } }, down)).toBe('deadline')
  })

  it('is circuit_open when the breaker rejected the call', async () => {
    const opened = guard({ breaker: {} }).breaker
    opened?.trip()
    expect(await stoppedBy({ breaker: opened ?? false }, down)).toBe('circuit_open')
  })

  it('is circuit_open when the breaker opened during the call', async () => {
    expect(await stoppedBy({ breaker: { failureThreshold: 2 } }, down)).toBe('circuit_open')
  })

  it('is aborted', async () => {
    expect(await stoppedBy({}, down, AbortSignal.abort(new Error('enough')))).toBe('aborted')
  })
})

describe('there is no session', () => {
  it.each([
    ['for an error that no guard threw', new Error('stranger')],
    ['for an error of ours that no guard threw', new HoldfastError('CANCELLED', 'stranger')],
    ['for undefined', undefined],
    ['for null', null],
    ['for a string', 'down'],
    ['for a function', () => {}],
  ])('%s', (_, error) => {
    expect(sessionOf(error)).toBeUndefined()
  })

  it('for a thrown value that is not an object', async () => {
    await rejection(guard().run(() => Promise.reject('down')))
    expect(sessionOf('down')).toBeUndefined()
  })

  it('for the error of an attempt that was followed by a success', async () => {
    const error = new Error('down')
    await guard({ clock: fakeClock(), retry: immediate }).run(({ number }) =>
      number < 2 ? Promise.reject(error) : 'up',
    )
    expect(sessionOf(error)).toBeUndefined()
  })
})

describe('a session is attached', () => {
  it('to a frozen error', async () => {
    const error = Object.freeze(new Error('down'))
    await rejection(guard({ retry: false }).run(() => Promise.reject(error)))
    expect(sessionOf(error)?.attempts).toHaveLength(1)
  })

  it('to a thrown object that is not an error', async () => {
    const thrown = { status: 404 }
    await rejection(guard().run(() => Promise.reject(thrown)))
    expect(sessionOf(thrown)?.stopped).toBe('not_retryable')
  })

  it('to a HoldfastError', async () => {
    const error = new HoldfastError('CANCELLED', 'stopped')
    await rejection(guard().run(() => Promise.reject(error)))
    expect(sessionOf(error)?.stopped).toBe('not_retryable')
  })

  it('to a frozen HoldfastError', async () => {
    const error = Object.freeze(new HoldfastError('CANCELLED', 'stopped'))
    await rejection(guard().run(() => Promise.reject(error)))
    expect(sessionOf(error)?.stopped).toBe('not_retryable')
  })

  it.each(['ATTEMPT_TIMEOUT', 'TOTAL_TIMEOUT', 'CIRCUIT_OPEN'])('for %s', async (code) => {
    const clock = fakeClock()
    const timeout = code === 'ATTEMPT_TIMEOUT' ? { attempt: 10 } : { total: 10 }
    const api = guard({ clock, name: 'mail', retry: false, timeout, breaker: {} })
    if (code === 'CIRCUIT_OPEN') api.breaker?.trip()
    const call = fate(api.run(never))
    await clock.advance(10)
    expect(call.error).toMatchObject({ code })
    expect(sessionOf(call.error)).toMatchObject({ operation: 'mail', attempts: { length: 1 } })
  })

  it('to a rejection, with one attempt of duration 0', async () => {
    const api = guard({ clock: fakeClock(), breaker: {} })
    api.breaker?.trip()
    const error = await rejection(api.run(never))
    expect(sessionOf(error)?.attempts).toEqual([
      { number: 1, timestamp: WALL, delay: 0, duration: 0, outcome: 'circuit_open', error },
    ])
  })
})

describe('one error object thrown by two calls', () => {
  it.each([
    ['on the quick path', {}],
    ['when watched', { timeout: { total: 1000 } }],
  ])(
    'has the session of the later, which does not contain the earlier, %s',
    async (_, options: GuardOptions) => {
      const error = new Error('shared')
      const fn = () => Promise.reject(error)
      await rejection(guard({ name: 'first', retry: false, clock: fakeClock(), ...options }).run(fn))
      await rejection(guard({ name: 'second', retry: false, clock: fakeClock(), ...options }).run(fn))
      expect(sessionOf(error)).toMatchObject({ operation: 'second' })
      expect(sessionOf(error)).not.toHaveProperty('inner')
    },
  )

  it('at the same time in one guard is not listed as an inner session', async () => {
    const clock = fakeClock()
    const error = new Error('shared')
    const api = guard({ clock })
    const calls = Array.from({ length: 5 }, () => fate(api.run(() => Promise.reject(error))))
    await clock.advance(60_000)
    expect(calls.every((call) => call.error === error)).toBe(true)
    expect(sessionOf(error)).not.toHaveProperty('inner')
    expect(sessionOf(error)?.attempts).toHaveLength(3)
  })
})

describe('with nested guards', () => {
  const nested = async (error: unknown, outerOptions: GuardOptions = {}) => {
    const inner = guard({ name: 'inner', clock: fakeClock(), retry: { ...immediate, maxAttempts: 2 } })
    const outer = guard({
      name: 'outer',
      clock: fakeClock(),
      retry: { ...immediate, maxAttempts: 3 },
      ...outerOptions,
    })
    await rejection(outer.run(() => inner.run(() => Promise.reject(error))))
    return sessionOf(error)
  }

  it.each([
    ['on the quick path', {}],
    ['when watched', { timeout: { total: 1000 } }],
  ])('the outermost has the session, with the inner ones per failed attempt, %s', async (_, options) => {
    const session = await nested(new Error('down'), options)
    expect(session).toMatchObject({ operation: 'outer', attempts: { length: 3 }, inner: { length: 3 } })
    expect(session?.inner).toMatchObject(
      Array.from({ length: 3 }, () => ({
        operation: 'inner',
        stopped: 'attempts_spent',
        attempts: { length: 2 },
      })),
    )
  })

  it('inner sessions can have inner sessions', async () => {
    const error = new Error('down')
    const level = (name: string) =>
      guard({ name, clock: fakeClock(), retry: { ...immediate, maxAttempts: 2 } })
    const [a, b, c] = [level('a'), level('b'), level('c')]
    await rejection(a.run(() => b.run(() => c.run(() => Promise.reject(error)))))
    expect(sessionOf(error)).toMatchObject({
      operation: 'a',
      inner: [
        { operation: 'b', inner: [{ operation: 'c' }, { operation: 'c' }] },
        { operation: 'b', inner: [{ operation: 'c' }, { operation: 'c' }] },
      ],
    })
  })

  it("an inner session is listed where its error is the cause of the attempt's error", async () => {
    const inner = guard({ name: 'inner', retry: { ...immediate, maxAttempts: 2 } })
    const load = async () => {
      const cause = await rejection(inner.run(() => Promise.reject(new Error('down'))))
      throw new Error('no page', { cause: new Error('no mail', { cause }) })
    }
    const error = await rejection(guard({ name: 'outer', retry: false }).run(load))
    expect(sessionOf(error)).toMatchObject({
      operation: 'outer',
      attempts: { length: 1 },
      inner: [{ operation: 'inner', attempts: { length: 2 } }],
    })
  })

  it('an inner call that succeeded is not listed', async () => {
    const error = new Error('down')
    const inner = guard({ name: 'inner', clock: fakeClock() })
    await rejection(
      guard({ retry: false }).run(async () => {
        await inner.run(() => 'up')
        throw error
      }),
    )
    expect(sessionOf(error)).not.toHaveProperty('inner')
  })

  it('an inner rejection is listed', async () => {
    const inner = guard({ name: 'inner', clock: fakeClock(), breaker: {} })
    inner.breaker?.trip()
    const error = await rejection(guard({ name: 'outer' }).run(() => inner.run(never)))
    expect(sessionOf(error)).toMatchObject({
      operation: 'outer',
      stopped: 'not_retryable',
      inner: [{ operation: 'inner', stopped: 'circuit_open' }],
    })
  })
})

it('note works when it is destructured from the attempt', async () => {
  const error = await guard({ retry: false })
    .run(({ note }) => {
      note({ step: 1 })
      throw new Error('down')
    })
    .catch((e: unknown) => e)
  expect(sessionOf(error)?.attempts[0]?.context).toEqual({ step: 1 })
})

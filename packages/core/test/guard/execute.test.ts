import { describe, expect, it } from 'vitest'
import { guard, Pool, sessionOf } from '../../src/index.js'
import { fakeClock, scripted } from '../../src/testing/index.js'
import { errorWith, rejection } from './watch.js'

const IMMEDIATE = { maxAttempts: 3, backoffType: 'immediate' } as const
const down = () => errorWith({ code: 'ECONNRESET' })

describe('guard.execute', () => {
  it('resolves to the value and a session with one attempt after a success at the first attempt', async () => {
    const clock = fakeClock()
    const startedAt = clock.wall()
    const call = guard({ name: 'api', clock, breaker: {} }).execute(async ({ number, note }) => {
      note({ mirror: 'm1' })
      await new Promise<void>((resolve) => clock.setTimer(resolve, 25))
      return number
    })
    await clock.advance(25)
    expect(await call).toEqual({
      value: 1,
      session: {
        operation: 'api',
        success: true,
        stopped: 'succeeded',
        attempts: [
          {
            number: 1,
            timestamp: startedAt,
            delay: 0,
            duration: 25,
            outcome: 'success',
            context: { mirror: 'm1' },
          },
        ],
      },
    })
  })

  it('lists failed attempts before the success', async () => {
    const clock = fakeClock()
    const error = down()
    const call = guard({ clock, retry: { maxAttempts: 2, baseDelay: 100 } }).execute(scripted([error, 'up']))
    await clock.advance(100)
    const { value, session } = await call
    expect(value).toBe('up')
    expect(session).toMatchObject({ success: true, stopped: 'succeeded' })
    expect(session.attempts).toMatchObject([
      { number: 1, delay: 0, outcome: 'failure', error },
      { number: 2, delay: 100, outcome: 'success' },
    ])
    expect(sessionOf(error)).toBeUndefined()
  })

  it('rejects as run does, with the session attached to the error', async () => {
    const api = guard({ retry: IMMEDIATE })
    const error = down()
    const fail = () => Promise.reject(error)
    expect(await rejection(api.execute(fail))).toBe(error)
    expect(sessionOf(error)).toMatchObject({ success: false, stopped: 'attempts_spent' })
    expect(sessionOf(error)?.attempts).toHaveLength(3)
  })

  it('accepts the options of run, and rejects unknown options', async () => {
    const api = guard({ retry: IMMEDIATE })
    const fn = scripted([down(), 'up'])
    expect(sessionOf(await rejection(api.execute(fn, { retry: false })))?.attempts).toHaveLength(1)
    expect(await rejection(api.execute(fn, { tiemout: 5 } as never))).toMatchObject({
      code: 'INVALID_OPTIONS',
    })
    const reason = new Error('enough')
    expect(await rejection(api.execute(fn, { signal: AbortSignal.abort(reason) }))).toBe(reason)
    expect(fn.calls).toBe(1)
  })

  it('marks the value of a fallback, with the reason why the call ended', async () => {
    const api = guard({ retry: IMMEDIATE, fallback: () => 'cached' })
    const { value, session } = await api.execute((): string => {
      throw down()
    })
    expect(value).toBe('cached')
    expect(session).toMatchObject({ success: false, stopped: 'attempts_spent', served: 'fallback' })
    expect(session.attempts).toHaveLength(3)
    expect((await api.execute(() => 'fresh')).session).not.toHaveProperty('served')
  })

  it('marks a fallback after a call that was rejected before its first attempt', async () => {
    const api = guard({ breaker: {}, fallback: () => 'cached' })
    api.breaker?.trip()
    const { session } = await api.execute(() => 'fresh')
    expect(session).toMatchObject({ success: false, stopped: 'circuit_open', served: 'fallback' })
    expect(session.attempts).toMatchObject([{ outcome: 'circuit_open' }])
  })

  it('returns an unwanted value of the last attempt with a session without success', async () => {
    const api = guard({ retry: { ...IMMEDIATE, retryIf: ({ value }) => value === 'pending' } })
    const { value, session } = await api.execute(() => 'pending')
    expect(value).toBe('pending')
    expect(session).toMatchObject({ success: false, stopped: 'unwanted_value' })
    expect(session).not.toHaveProperty('served')
    expect(session.attempts).toHaveLength(3)
  })

  it('includes the member of a pool and the sessions of inner guards', async () => {
    const pool = new Pool({ id: 'p', members: [{ id: 'a', value: 1 }] })
    const inner = guard({ name: 'inner', retry: false })
    const outer = guard({ retry: IMMEDIATE, pool })
    const { session } = await outer.execute(({ number }) =>
      inner.run(() => {
        if (number === 1) throw down()
        return number
      }),
    )
    expect(session.attempts.map(({ memberId }) => memberId)).toEqual(['a', 'a'])
    expect(session.inner).toMatchObject([{ operation: 'inner', stopped: 'attempts_spent' }])
  })

  it('has one attempt where the guard is disabled', async () => {
    const api = guard({ enabled: false, retry: IMMEDIATE })
    const { value, session } = await api.execute(({ number }) => number)
    expect(value).toBe(1)
    expect(session).toMatchObject({ success: true, stopped: 'succeeded', attempts: [{ outcome: 'success' }] })
    const error = down()
    expect(await rejection(api.execute(() => Promise.reject(error)))).toBe(error)
  })

  it('gives each call a session of its own', async () => {
    const api = guard({ retry: IMMEDIATE })
    const [first, second] = await Promise.all([
      api.execute(scripted([down(), 'a'])),
      api.execute(scripted(['b'])),
    ])
    expect(first.session.attempts).toHaveLength(2)
    expect(second.session.attempts).toHaveLength(1)
  })
})

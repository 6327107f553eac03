import { type HoldfastError, sessionOf } from 'holdfast'
import { describe, expect, it } from 'vitest'
import { refused, start } from './setup.js'

const CONFIG = {
  recordResults: true,
  policies: { send: { maxAttempts: 2, backoffType: 'immediate' } },
  circuitBreakers: { mail: {} },
} as const

const fail = () => Promise.reject(refused())

describe('the fallback of hf.run', () => {
  it('returns a value in place of the error, with the number of the last attempt and the context', async () => {
    const { hf } = await start(CONFIG)
    const infos: unknown[] = []

    const value = await hf.run('send', fail, {
      context: { user: 7 },
      fallback: (error, info) => {
        infos.push([(error as Error).message, info])
        return Promise.resolve('cached')
      },
    })

    expect(value).toBe('cached')
    expect(infos).toEqual([['connect ECONNREFUSED', { attempt: 2, context: { user: 7 } }]])
  })

  it('is not called where an attempt succeeds', async () => {
    const { hf } = await start(CONFIG)
    const fallback = () => {
      throw new Error('called')
    }
    expect(await hf.run('send', () => 'sent', { fallback })).toBe('sent')
  })

  it('is recorded as served, in a session that failed and says why', async () => {
    const { hf, events } = await start(CONFIG)
    await hf.run('send', fail, { fallback: () => 'cached' })

    const { items } = await hf.sessions.list()
    expect(items).toMatchObject([
      {
        schema: '1.2',
        success: false,
        stopped: 'attempts_spent',
        served: 'fallback',
        totalAttempts: 2,
        finalError: { message: 'connect ECONNREFUSED' },
      },
    ])
    expect(items[0]).not.toHaveProperty('finalResult')
    expect(events.at(-1)).toMatchObject({
      eventType: 'retry_failure',
      context: { stopped: 'attempts_spent', served: 'fallback' },
    })
    expect((await hf.metrics.summary()).totalRetries).toBe(1)
    expect(hf.metrics.counters().operations.get('send')).toMatchObject({ exhausted: 1, recovered: 0 })
  })

  it('answers a call that a breaker rejects', async () => {
    const { hf } = await start(CONFIG)
    await hf.breakers.trip('service:mail')
    const fallback = (error: unknown, { attempt }: { attempt: number }) => [
      (error as HoldfastError).code,
      attempt,
    ]

    expect(await hf.run('send', fail, { service: 'mail', fallback })).toEqual(['CIRCUIT_OPEN', 1])
    expect((await hf.sessions.list()).items).toMatchObject([{ stopped: 'circuit_open', served: 'fallback' }])
  })

  it('leaves no dead letter where it returns a value, and one with the original error where it throws', async () => {
    const { hf } = await start(CONFIG)
    await hf.run('send', fail, { payload: { id: 1 }, fallback: () => 'cached' })
    expect((await hf.deadLetters.list()).items).toEqual([])

    const own = new Error('the cache is down too')
    const options = { payload: { id: 2 }, fallback: () => Promise.reject(own) }
    const error = await hf.run('send', fail, options).catch((thrown: unknown) => thrown)

    expect(error).toBe(own)
    expect(own.cause).toMatchObject({ code: 'ECONNREFUSED' })
    expect(sessionOf(own)?.stopped).toBe('attempts_spent')
    expect((await hf.deadLetters.list()).items).toMatchObject([
      { originalPayload: { id: 2 }, errorDetails: { errorMessage: 'connect ECONNREFUSED' } },
    ])
    const [session] = (await hf.sessions.list()).items
    expect(session).toMatchObject({ success: false, finalError: { message: 'connect ECONNREFUSED' } })
    expect(session).not.toHaveProperty('served')
  })

  it('is not called where the caller aborts, and is not awaited where the caller aborts meanwhile', async () => {
    const { hf } = await start(CONFIG)
    const before = new AbortController()
    before.abort(new Error('gone'))
    const called = await hf
      .run('send', fail, { signal: before.signal, fallback: () => 'cached' })
      .catch((thrown: unknown) => thrown)
    expect(called).toMatchObject({ message: 'gone' })

    const during = new AbortController()
    const error = await hf
      .run('send', fail, {
        payload: { id: 1 },
        signal: during.signal,
        fallback: () => {
          during.abort(new Error('left'))
          return new Promise<string>(() => {})
        },
      })
      .catch((thrown: unknown) => thrown)

    expect(error).toMatchObject({ message: 'left' })
    expect((await hf.sessions.list()).items[0]).toMatchObject({ stopped: 'aborted' })
    expect((await hf.deadLetters.list()).items).toEqual([])
  })

  it('ends with CANCELLED and leaves a dead letter where the call is cancelled while it runs', async () => {
    const { hf } = await start(CONFIG)
    let running = () => {}
    const started = new Promise<void>((resolve) => {
      running = resolve
    })
    const call = hf
      .run('send', fail, {
        payload: { id: 1 },
        fallback: () => {
          running()
          return new Promise<string>(() => {})
        },
      })
      .catch((thrown: unknown) => thrown)
    await started
    const [active] = (await hf.sessions.list({ active: true })).items

    expect(await hf.sessions.cancel(active?.sessionId as string)).toBe(true)
    expect(await call).toMatchObject({ code: 'CANCELLED' })
    expect((await hf.sessions.list()).items).toMatchObject([{ stopped: 'cancelled' }])
    expect((await hf.deadLetters.list()).items).toMatchObject([{ originalPayload: { id: 1 } }])
  })

  it('runs after the event gave_up of a guard, which is emitted once', async () => {
    const { hf } = await start(CONFIG)
    const effects: string[] = []
    const guard = hf.guard('send', {
      fallback: () => {
        effects.push('fallback')
        return 'cached'
      },
    })
    guard.on(({ type }) => void effects.push(type))

    const value: string = await guard.run(fail)
    expect(value).toBe('cached')
    expect(effects).toEqual(['attempt_failed', 'retry_scheduled', 'attempt_failed', 'gave_up', 'fallback'])
  })

  it('is recorded as served for a guard with its own options', async () => {
    const { hf } = await start(CONFIG)
    const guard = hf.guardFor('Prices/load', { retry: false, fallback: (() => 'cached') as never })

    expect(await guard.run(fail)).toBe('cached')
    expect((await hf.sessions.list()).items).toMatchObject([
      { operation: 'Prices/load', stopped: 'attempts_spent', served: 'fallback' },
    ])
  })

  it('must be a function', async () => {
    const { hf } = await start(CONFIG)
    await expect(hf.run('send', fail, { fallback: 'cached' as never })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: expect.stringContaining('fallback: expected a function'),
    })
  })
})

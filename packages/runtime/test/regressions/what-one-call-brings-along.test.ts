import type { GuardEvent } from 'holdfast'
import { describe, expect, it } from 'vitest'
import { failing, refused, start, timeout } from '../holdfast/setup.js'

const QUICK = { policies: { quick: { maxAttempts: 9, backoffType: 'immediate' } } }

describe("a call's own retry", () => {
  it('is what events, logs and guards tell of', async () => {
    const said: string[] = []
    const say = (_: object, message: string) => void said.push(message)
    const logger = { debug: say, info: say, warn: say, error: say }
    const { hf, events } = await start(QUICK, { logger })
    const guard = hf.guard('quick')
    const heard: GuardEvent[] = []
    guard.on((event) => void heard.push(event))
    await guard.run(() => Promise.reject(refused()), { retry: { maxAttempts: 2 } }).catch(() => {})
    const most = (list: readonly object[]) =>
      list.flatMap((event) => ('maxAttempts' in event ? [event.maxAttempts] : []))
    expect(most(events)).toEqual([2])
    expect(most(heard)).toEqual([2])
    expect(said[0]).toBe("Retry attempt 1/1 for 'quick' after 0ms: Error: connect ECONNREFUSED")
  })

  it('counts as it is when the call begins, though the object was used before', async () => {
    const { hf } = await start(QUICK)
    const attempts = async (options: object, during = () => {}) => {
      let count = 0
      const error = await hf
        .run(
          'quick',
          () => {
            during()
            count++
            throw count === 1 ? refused() : timeout()
          },
          options,
        )
        .catch((thrown: { code?: string }) => thrown)
      return (error as { code?: string }).code === 'INVALID_OPTIONS' ? error : count
    }
    const retry: { maxAttempts: number; retryOn?: string[] } = { maxAttempts: 2 }
    expect(await attempts({ retry })).toBe(2)
    retry.maxAttempts = 4
    expect(await attempts({ retry })).toBe(4)
    retry.retryOn = ['ECONNREFUSED']
    expect(await attempts({ retry })).toBe(2)
    retry.retryOn.push('TimeoutError')
    expect(await attempts({ retry })).toBe(4)
    expect(await attempts({ retry }, () => (retry.maxAttempts = 6))).toBe(4)
    const policy: Record<string, unknown> = { maxAttempts: 2 }
    expect(await attempts({ policy })).toBe(2)
    policy.maxAttempts = 4
    expect(await attempts({ policy })).toBe(4)
    policy.retryableExceptions = ['ECONNREFUSED']
    expect(await attempts({ policy })).toBe(2)
    policy.nonsense = () => 1
    expect(await attempts({ policy })).toMatchObject({ code: 'INVALID_OPTIONS' })
  })

  it('makes no retry where the policy only looks on, and is what it would have done', async () => {
    const { hf, events } = await start({
      policies: {
        looks: { shadow: true, maxAttempts: 4, backoffType: 'immediate' },
        off: { enabled: false, maxAttempts: 4, backoffType: 'immediate' },
        quick: { maxAttempts: 4, backoffType: 'immediate' },
      },
      subsystemMappings: { mixed: { call: { network_error: 'looks', timeout: 'off', default: 'quick' } } },
    })
    const attempts = async (operation: string, error: () => Error, retry: object | false) => {
      let count = 0
      await hf.run(operation, () => (count++, Promise.reject(error())), { retry } as object).catch(() => {})
      return count
    }
    expect(await attempts('looks', refused, { maxAttempts: 3 })).toBe(1)
    expect(
      events.map(({ eventType, maxAttempts, context }) => [eventType, maxAttempts, context?.shadow]),
    ).toEqual([
      ['retry_attempt', 3, true],
      ['retry_failure', undefined, undefined],
    ])
    expect(await attempts('looks', refused, false)).toBe(1)
    expect(events.at(-2)).toMatchObject({ eventType: 'retry_failure', context: { shadow: true } })
    expect(await attempts('mixed.call', refused, { maxAttempts: 3 })).toBe(1)
    expect(await attempts('mixed.call', timeout, { maxAttempts: 3 })).toBe(1)
    expect(
      await attempts('mixed.call', () => Object.assign(new Error('x'), { status: 503 }), { maxAttempts: 3 }),
    ).toBe(3)
  })
})

it('the attempts of the window are those of the sessions, though a call was aborted before it began', async () => {
  const { hf, clock } = await start(QUICK)
  const signal = AbortSignal.abort(new Error('too late'))
  await hf.run('quick', () => 1, { signal }).catch(() => {})
  await failing(hf, 'quick', refused, { retry: { maxAttempts: 2 } })
  const sessions = (await hf.sessions.list()).items
  expect(sessions.map(({ totalAttempts, stopped }) => [stopped, totalAttempts])).toEqual([
    ['attempts_spent', 2],
    ['aborted', 0],
  ])
  const window = await hf.metrics.window({
    from: new Date(clock.wall() - 60_000),
    to: new Date(clock.wall() + 60_000),
  })
  expect(window).toMatchObject({ totalSessions: 2, totalAttempts: 2 })
})

it('a session that runs tells the attempt that runs', async () => {
  const { hf, clock } = await start({ policies: { slow: { maxAttempts: 3, baseDelay: 1000 } } })
  let finish = () => {}
  const call = hf.run('slow', ({ number }) => {
    if (number === 1) throw refused()
    return new Promise<void>((resolve) => (finish = resolve))
  })
  await new Promise(setImmediate)
  const seen = async () => {
    const { items } = await hf.sessions.list({ active: true })
    return items.map(({ totalAttempts, retryCount, attempts }) => [
      totalAttempts,
      retryCount,
      attempts.length,
    ])
  }
  expect(await seen()).toEqual([[1, 0, 1]])
  await clock.advance(1000)
  expect(await seen()).toEqual([[2, 1, 1]])
  finish()
  await call
  expect((await hf.sessions.list()).items[0]).toMatchObject({ totalAttempts: 2, retryCount: 1 })
})

import type { GuardEvent } from 'holdfast'
import { describe, expect, it } from 'vitest'
import { refused, start, timeout } from '../holdfast/setup.js'

const QUICK = { policies: { quick: { maxAttempts: 9, backoffType: 'immediate' } } }

describe('the `retry` option of a call', () => {
  it('appears in events, logs and guard events', async () => {
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

  it('is read when the call begins, even if the object was used before', async () => {
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

  it('causes no retry under a policy in shadow mode, which reports what it would have done', async () => {
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

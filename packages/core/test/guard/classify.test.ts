import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Classification, type GuardOptions, guard, sessionOf } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { errorWith, fate } from './watch.js'

/** Runs a call that fails with `error` under a guard with this classifier. */
async function fail(
  error: Error,
  classify: NonNullable<GuardOptions['classify']>,
  options: GuardOptions = {},
) {
  const clock = fakeClock()
  const began: number[] = []
  const api = guard({ clock, classify, retry: { backoffType: 'immediate' }, ...options })
  const call = fate(
    api.run(() => {
      began.push(clock.now())
      throw error
    }),
  )
  await clock.advance(100_000)
  return { began, calls: began.length, same: call.error === error, session: sessionOf(error), api }
}

describe('the classify option of a guard', () => {
  it('makes a transient error permanent', async () => {
    const { calls } = await fail(new Error('down'), () => ({ category: 'permanent' }))
    expect(calls).toBe(1)
  })

  it('makes a permanent error transient', async () => {
    const { calls } = await fail(new TypeError('flaky'), () => ({ category: 'transient' }))
    expect(calls).toBe(3)
  })

  it('keeps the built-in classification of the fields that it leaves out', async () => {
    const { calls, session } = await fail(errorWith({ status: 503 }), () => ({ kind: 'validation' }))
    expect(calls).toBe(3)
    expect(session?.attempts[0]).toMatchObject({ statusCode: 503 })
  })

  it('keeps the built-in classification where it returns undefined', async () => {
    expect((await fail(new Error('down'), () => undefined)).calls).toBe(3)
    expect((await fail(new TypeError('bug'), () => undefined)).calls).toBe(1)
  })

  it('can return the delay in retryAfter', async () => {
    const { began } = await fail(new Error('down'), () => ({ retryAfter: 250 }))
    expect(began).toEqual([0, 250, 500])
  })

  it('returns the kind that retryOn and abortOn match', async () => {
    const classify = () => ({ kind: 'disk_full' }) as const
    const retry = { backoffType: 'immediate', abortOn: ['disk_full'] } as const
    expect((await fail(new Error('down'), classify, { retry })).calls).toBe(1)
  })

  it('decides which errors the breaker counts', async () => {
    const breaker = { failureThreshold: 1 }
    const { api } = await fail(new Error('down'), () => ({ category: 'permanent' }), { breaker })
    expect(api.breaker?.state).toBe('closed')
    const counted = await fail(new TypeError('bug'), () => ({ category: 'critical' }), { breaker })
    expect(counted.api.breaker?.state).toBe('open')
  })

  it('is called once for each failed attempt, with the error itself', async () => {
    const error = new Error('down')
    const classify = vi.fn(() => undefined)
    await fail(error, classify)
    expect(classify.mock.calls).toEqual([[error], [error], [error]])
  })

  it('is not called for values', async () => {
    const classify = vi.fn(() => undefined)
    await guard({ classify, retry: { backoffType: 'immediate', retryIf: () => true } }).run(() => 'meh')
    expect(classify).not.toHaveBeenCalled()
  })
})

describe('a classify option that throws', () => {
  let said: ReturnType<typeof vi.spyOn>
  beforeEach(() => {
    said = vi.spyOn(console, 'error').mockImplementation(() => {})
  })
  afterEach(() => said.mockRestore())

  const bug = new Error('bug')
  const broken = () => (): Partial<Classification> => {
    throw bug
  }

  it('keeps the built-in classification', async () => {
    expect(await fail(new Error('down'), broken())).toMatchObject({ calls: 3, same: true })
    expect(await fail(new TypeError('bug'), broken())).toMatchObject({ calls: 1, same: true })
  })

  it('is reported once, with the thrown error', async () => {
    await fail(new Error('down'), broken())
    expect(said.mock.calls).toEqual([[expect.stringMatching(/classify threw/), bug]])
  })
})

import { describe, expect, it } from 'vitest'
import { createFetch, type FetchOptions } from '../../src/http/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { problemsOf } from '../breaker/setup.js'
import { serve } from './server.js'

const problems = (options: unknown) => problemsOf(() => createFetch(options as FetchOptions))

describe('the options of createFetch', () => {
  it('are validated all at once', () => {
    const wrong = problems({
      fetch: 7,
      throwOnStatus: 'yes',
      retry: { retryStatusCodes: [404], retryNonIdempotent: 1, idempotencyKey: 'k', maxAttempts: 0 },
      timeout: { attempt: -1 },
      colour: 'red',
    })
    expect(
      wrong.map((problem) => problem.split(':')[0] ?? '').toSorted((a, b) => a.localeCompare(b)),
    ).toEqual([
      'colour',
      'fetch',
      'retry.idempotencyKey',
      'retry.maxAttempts',
      'retry.retryNonIdempotent',
      'retry.retryStatusCodes',
      'throwOnStatus',
      'timeout.attempt',
    ])
  })

  it.each([[null], [7], ['x'], [[]]])('are an object, not %o', (options) => {
    expect(problems(options)).toHaveLength(1)
  })

  it.each([[408], [425], [429], [500], [599]])('accept the status %d', (status) => {
    expect(() => createFetch({ retry: { retryStatusCodes: [status] } })).not.toThrow()
  })

  it.each([[200], [404], [409], [499], [600], [500.5], ['503'], [Number.NaN]])(
    'refuse the status %s',
    (status) => {
      expect(problems({ retry: { retryStatusCodes: [status] } })).toEqual([
        `retry.retryStatusCodes: expected an array of 408, 425, 429 and statuses from 500 to 599 (others are for retryIf), got [${typeof status === 'string' ? `"${status}"` : status}]`,
      ])
    },
  )

  it('are copied, so that later changes have no effect', async () => {
    const server = await serve(503)
    const retryStatusCodes = [503]
    const resilient = createFetch({ retry: { backoffType: 'immediate', retryStatusCodes } })
    retryStatusCodes.length = 0
    expect((await resilient(server.url)).status).toBe(200)
  })

  it('of one request do not affect the next', async () => {
    const server = await serve(503, 503, 503)
    const resilient = createFetch({ retry: { backoffType: 'immediate' } })
    expect((await resilient(server.url, { retry: { retryStatusCodes: [] } })).status).toBe(503)
    expect((await resilient(server.url)).status).toBe(200)
  })

  it('can disable all strategies', async () => {
    const server = await serve(503)
    const off = createFetch({ enabled: false, retry: { backoffType: 'immediate' } })
    expect((await off(server.url, { body: () => 'made', method: 'PUT' })).status).toBe(503)
    expect(server.seen.map(({ body }) => body)).toEqual(['made'])
  })
})

describe('the listener of a fetch', () => {
  it('receives events with method and origin, but without the path', async () => {
    const answers = [503, 200]
    const told: unknown[] = []
    const resilient = createFetch({
      clock: fakeClock(),
      hedge: { delay: 1000 },
      retry: { backoffType: 'immediate' },
      fetch: async () => new Response(null, { status: answers.shift() ?? 200 }),
    })
    const off = resilient.on((event) => {
      const { attempt, context } = event as { attempt: number; context: { method: string; origin: string } }
      told.push([event.type, attempt, context.method, context.origin])
    })
    await resilient('https://a.example/secret?token=1', { method: 'DELETE' })
    await resilient('https://a.example/secret', { method: 'POST' })
    off()
    await resilient('https://a.example/secret')
    // A hedge started when the DELETE failed; both runs are one attempt.
    expect(told).toEqual([
      ['succeeded', 1, 'DELETE', 'https://a.example'],
      ['succeeded', 1, 'POST', 'https://a.example'],
    ])
  })

  it('receives breaker events once, with and without hedging', async () => {
    for (const hedge of [undefined, { delay: 1000 }]) {
      const told: string[] = []
      const resilient = createFetch({
        clock: fakeClock(),
        retry: false,
        breaker: { failureThreshold: 1 },
        ...(hedge && { hedge }),
        fetch: async () => new Response(null, { status: 500 }),
      })
      resilient.on(({ type }) => told.push(type))
      await resilient('https://a.example', { method: 'POST' })
      expect(told).toEqual(['breaker_changed', 'attempt_failed', 'gave_up'])
    }
  })
})

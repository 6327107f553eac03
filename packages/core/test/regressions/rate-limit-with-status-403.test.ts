import { describe, expect, it } from 'vitest'
import { createFetch } from '../../src/http/index.js'
import { CircuitBreaker, classify } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { serve } from '../http/server.js'

const WALL = Date.UTC(2026, 0, 1)
const RESET = `${WALL / 1000 + 30}`

describe('a 403 of a service that reports rate limits with it', () => {
  it.each([
    ['retry-after', { 'Retry-After': '30' }, 30_000],
    ['no calls left until a time', { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': RESET }, 30_000],
    ['no calls left', { 'x-ratelimit-remaining': '0' }, undefined],
  ])('is a rate limit with %s', (_, headers, retryAfter) => {
    const limited = { category: 'transient', kind: 'rate_limited', httpStatus: 403 }
    for (const error of [
      Object.assign(new Error('secondary rate limit'), { status: 403, response: { headers } }),
      Object.assign(new Error('forbidden'), { statusCode: 403, headers: new Headers(headers as never) }),
      new Response(null, { status: 403, headers: headers as never }),
    ]) {
      expect(classify(error, WALL)).toMatchObject(limited)
      expect(classify(error, WALL).retryAfter).toBe(retryAfter)
    }
  })

  it.each([
    ['nothing', {}],
    ['calls left', { 'x-ratelimit-remaining': '12', 'x-ratelimit-reset': RESET }],
    ['a retry-after that cannot be read', { 'retry-after': 'soon' }],
  ])('is not a rate limit with %s', (_, headers) => {
    expect(classify(new Response(null, { status: 403, headers: headers as never }), WALL)).toMatchObject({
      category: 'permanent',
      kind: 'access_denied',
    })
  })

  it('is retried by a fetch after its Retry-After and not counted by a breaker', async () => {
    const server = await serve({ status: 403, headers: { 'retry-after': '30' } })
    const clock = fakeClock()
    const breaker = new CircuitBreaker({ failureThreshold: 1, clock })
    const waits: number[] = []
    const send = createFetch({ breaker, clock })
    const answer = new Promise<Response>((resolve, reject) => {
      send.on((event) => {
        if (event.type !== 'retry_scheduled') return
        waits.push(event.delay)
        void clock.advance(event.delay)
      })
      send(server.url).then(resolve, reject)
    })
    expect((await answer).status).toBe(200)
    expect(waits).toEqual([30_000])
    expect(breaker.failureCount).toBe(0)
  })
})

import { describe, expect, it } from 'vitest'
import { guard, type RetryOptions, sessionOf } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { errorWith, fate } from '../guard/watch.js'

const WALL = Date.UTC(2026, 5, 1, 12)
const BACKOFF = 700

/** When the second attempt started, after a first that failed with these headers; undefined where it never started. */
async function secondAt(headers: unknown, retry: RetryOptions = {}, facts: object = { headers }) {
  const clock = fakeClock({ wall: WALL })
  const began: number[] = []
  const call = fate(
    guard({ clock, retry: { maxAttempts: 2, baseDelay: BACKOFF, ...retry } }).run(() => {
      began.push(clock.now())
      throw errorWith({ status: 503, ...facts })
    }),
  )
  await clock.advance(24 * 3_600_000)
  return { at: began[1], stopped: sessionOf(call.error)?.stopped }
}

const at = (ms: number) => ({ at: ms, stopped: 'attempts_spent' })
const STOPPED = { at: undefined, stopped: 'deadline' }

describe('the delay is the Retry-After of the server', () => {
  it.each([
    ['in seconds', { 'retry-after': '2' }, 2000],
    ['in fractions of one', { 'retry-after': '0.25' }, 250],
    ['as a number', { 'retry-after': 3 }, 3000],
    ['in any case', { 'ReTry-AFTER': '2' }, 2000],
    ['in a Headers', new Headers({ 'retry-after': '4' }), 4000],
    ['as a date', { 'retry-after': 'Mon, 01 Jun 2026 12:00:30 GMT' }, 30_000],
    ['as a date that has passed', { 'retry-after': 'Mon, 01 Jun 2026 11:00:00 GMT' }, 0],
    ['in milliseconds', { 'retry-after-ms': '150' }, 150],
    ['in milliseconds rather than seconds', { 'retry-after-ms': '150', 'retry-after': '9' }, 150],
    ['in seconds until a limit is lifted', { 'x-ratelimit-reset': '5' }, 5000],
    ['in epoch seconds of when a limit is lifted', { 'x-ratelimit-reset': `${WALL / 1000 + 8}` }, 8000],
    ['in seconds rather than a reset', { 'retry-after': '1', 'x-ratelimit-reset': '5' }, 1000],
    ['0 seconds', { 'retry-after': '0' }, 0],
    ['0 milliseconds', { 'retry-after-ms': '0' }, 0],
  ])('%s', async (_, headers, ms) => {
    expect(await secondAt(headers)).toEqual(at(ms))
  })

  it("in the headers of the error's response", async () => {
    const response = new Response(null, { status: 503, headers: { 'retry-after': '6' } })
    expect(await secondAt(undefined, {}, { response })).toEqual(at(6000))
  })

  it("in the error's retryAfter, which is milliseconds", async () => {
    expect(await secondAt(undefined, {}, { retryAfter: 42 })).toEqual(at(42))
  })

  it('even where it is longer than maxDelay', async () => {
    expect(await secondAt({ 'retry-after': '20' }, { maxDelay: 1000 })).toEqual(at(20_000))
  })

  it('without jitter', async () => {
    const jitter = { jitterType: 'full', jitterAmount: 1 } as const
    expect(await secondAt({ 'retry-after': '20' }, jitter)).toEqual(at(20_000))
  })
})

describe('the delay is the backoff', () => {
  it.each([
    ['words', { 'retry-after': 'soon' }],
    ['nothing', { 'retry-after': '' }],
    ['a negative number', { 'retry-after': '-1' }],
    ['NaN', { 'retry-after': 'NaN' }],
    ['Infinity', { 'retry-after': 'Infinity' }],
    ['garbage in each header', { 'retry-after-ms': 'x', 'retry-after': 'y', 'x-ratelimit-reset': 'z' }],
  ])('where the header is %s', async (_, headers) => {
    expect(await secondAt(headers)).toEqual(at(BACKOFF))
  })

  it('where respectRetryAfter is false', async () => {
    expect(await secondAt({ 'retry-after': '2' }, { respectRetryAfter: false })).toEqual(at(BACKOFF))
  })

  it('where respectRetryAfter is false and the Retry-After is too long', async () => {
    expect(await secondAt({ 'retry-after': '9999' }, { respectRetryAfter: false })).toEqual(at(BACKOFF))
  })
})

describe('a Retry-After that is too long', () => {
  it('is the delay up to 60 s', async () => {
    expect(await secondAt({ 'retry-after': '60' })).toEqual(at(60_000))
  })

  it('ends the call beyond 60 s', async () => {
    expect(await secondAt({ 'retry-after-ms': '60001' })).toEqual(STOPPED)
  })

  it('ends the call beyond maxRetryAfter', async () => {
    expect(await secondAt({ 'retry-after': '3' }, { maxRetryAfter: '2s' })).toEqual(STOPPED)
  })

  it('never ends the call where maxRetryAfter is Infinity', async () => {
    const patient = { maxRetryAfter: Number.POSITIVE_INFINITY }
    expect(await secondAt({ 'retry-after': '7200' }, patient)).toEqual(at(7_200_000))
  })

  it('is not the stop reason of a call without attempts left', async () => {
    expect(await secondAt({ 'retry-after': '9999' }, { maxAttempts: 1 })).toEqual({
      at: undefined,
      stopped: 'attempts_spent',
    })
  })

  it('is not the stop reason of a call whose error is not retried', async () => {
    const facts = { headers: { 'retry-after': '9999' }, status: 404 }
    expect(await secondAt(undefined, {}, facts)).toEqual({ at: undefined, stopped: 'not_retryable' })
  })

  it('ends the call at once when the total deadline would pass', async () => {
    const clock = fakeClock()
    const error = errorWith({ status: 503, headers: { 'retry-after': '5' } })
    const call = fate(guard({ clock, timeout: { total: '4s' } }).run(() => Promise.reject(error)))
    await clock.advance(0)
    expect(call).toEqual({ state: 'rejected', error })
    expect(sessionOf(error)?.stopped).toBe('deadline')
  })
})

describe('for an unwanted value', () => {
  it('the Retry-After of a Response is the delay', async () => {
    const clock = fakeClock()
    const began: number[] = []
    const retry: RetryOptions = {
      retryIf: ({ value }) => value instanceof Response && value.status === 503,
    }
    const call = guard({ clock, retry }).run(() => {
      began.push(clock.now())
      return new Response(null, { status: began.length < 2 ? 503 : 200, headers: { 'retry-after': '7' } })
    })
    await clock.advance(7000)
    expect((await call).status).toBe(200)
    expect(began).toEqual([0, 7000])
  })
})

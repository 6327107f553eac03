import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { classify, parseRetryAfter } from '../../src/classify/index.js'
import { shaped } from './shapes.js'

const NOW = Date.UTC(2025, 10, 6, 10, 0, 0)
const of = (headers: unknown) => parseRetryAfter({ headers }, NOW)

// The meaning of a date does not depend on the system's time zone.
const zone = process.env.TZ
beforeAll(() => {
  process.env.TZ = 'Asia/Tokyo'
})
afterAll(() => {
  if (zone === undefined) delete process.env.TZ
  else process.env.TZ = zone
})

describe('Retry-After', () => {
  it.each([
    ['0', 0],
    ['2', 2000],
    [' 2 ', 2000],
    ['1.5', 1500],
    ['1.1', 1100],
    ['0.0001', 1],
    ['2, 7', 2000],
    ['120', 120_000],
    [3, 3000],
    ['Thu, 06 Nov 2025 10:00:07 GMT', 7000],
    ['Thursday, 06-Nov-25 10:00:07 GMT', 7000],
    ['Thu Nov  6 10:00:07 2025', 7000],
    [' Thu, 06 Nov 2025 10:00:07 GMT', 7000],
    ['Thu, 06 Nov 2025 09:59:00 GMT', 0],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
    ['Thu, 06 Nov 2025 10:00:00 GMT', 0],
  ])('%j is %i ms', (value, ms) => {
    expect(of({ 'retry-after': value })).toBe(ms)
  })

  it.each([
    '',
    ' ',
    'soon',
    '-5',
    '-0.5',
    '1e3',
    '0x10',
    'Infinity',
    'NaN',
    '9'.repeat(400),
    '5 seconds',
    'x5',
    '5x',
    '1.',
    '.5',
    'Thu, 99 Foo 2025 10:00:00 GMT',
    'Monday',
    'soon 06 Nov 2025 10:00:07 GMT',
    '06 Nov 2025 10:00:07 GMT',
    'on Thu, 06 Nov 2025 10:00:07 GMT',
    'xThu, 06 Nov 2025 10:00:07 GMT',
    null,
    undefined,
    {},
    Number.NaN,
    -1,
  ])('%j is ignored', (value) => {
    expect(of({ 'retry-after': value })).toBeUndefined()
  })

  it('of any length is parsed quickly', () => {
    expect(of({ 'retry-after': `Mon ${': '.repeat(50_000)}` })).toBeUndefined()
    expect(of({ 'retry-after': `Mon${' '.repeat(100_000)}` })).toBeUndefined()
    expect(of({ 'retry-after': '1'.repeat(100_000) })).toBeUndefined()
  })

  it('is read from Headers, an object, a Map or a list of values, in any case', () => {
    expect(of(new Headers({ 'Retry-After': '2' }))).toBe(2000)
    expect(of({ 'RETRY-after': '2' })).toBe(2000)
    expect(of(new Map([['Retry-After', '2']]))).toBe(2000)
    expect(of({ 'retry-after': ['soon', '2', '3'] })).toBe(2000)
    expect(of({ get: (name: string) => (name === 'retry-after' ? ['2'] : null) })).toBe(2000)
    expect(of({ get: 'a header called get', 'retry-after': '2' })).toBe(2000)
    expect(of({ 'Retry-After': 'soon', 'retry-after': '4' })).toBe(4000)
  })

  it('comes after retry-after-ms and before x-ratelimit-reset', () => {
    const all = { 'x-ratelimit-reset': '9', 'retry-after': '2', 'retry-after-ms': '150' }
    expect(of(all)).toBe(150)
    expect(of({ ...all, 'retry-after-ms': 'soon' })).toBe(2000)
    expect(of({ ...all, 'retry-after-ms': 'soon', 'retry-after': '-1' })).toBe(9000)
    expect(of({ ...all, 'retry-after-ms': '0' })).toBe(0)
    expect(of({ ...all, 'retry-after-ms': '0.2' })).toBe(1)
    expect(of({ ...all, 'retry-after-ms': '-1' })).toBe(2000)
  })
})

describe('x-ratelimit-reset', () => {
  it('counts seconds from now below 10^9, and is a time from there on', () => {
    expect(of({ 'x-ratelimit-reset': '30' })).toBe(30_000)
    expect(of({ 'x-ratelimit-reset': '0' })).toBe(0)
    expect(of({ 'x-ratelimit-reset': '999999999' })).toBe(999_999_999_000)
    expect(of({ 'x-ratelimit-reset': '1000000000' })).toBe(0)
    expect(of({ 'x-ratelimit-reset': `${NOW / 1000 + 30}` })).toBe(30_000)
    expect(of({ 'x-ratelimit-reset': `${NOW / 1000 - 30}` })).toBe(0)
    expect(of({ 'x-ratelimit-reset': 'later' })).toBeUndefined()
  })

  it('is ignored while calls remain in the window', () => {
    const reset = { 'x-ratelimit-reset': '30' }
    expect(of({ ...reset, 'x-ratelimit-remaining': '4999' })).toBeUndefined()
    expect(of({ ...reset, 'x-ratelimit-remaining': '0' })).toBe(30_000)
    expect(of({ ...reset, 'x-ratelimit-remaining': 'some' })).toBe(30_000)
    expect(of({ 'retry-after': '2', 'x-ratelimit-remaining': '4999' })).toBe(2000)
  })
})

describe('where it is read', () => {
  const headers = { 'retry-after': '2' }

  it('is headers, then those of the response, then retryAfter in milliseconds', () => {
    expect(
      parseRetryAfter({ headers, response: { headers: { 'retry-after': '3' } }, retryAfter: 4 }, NOW),
    ).toBe(2000)
    expect(
      parseRetryAfter({ headers: {}, response: { headers: { 'retry-after': '3' } }, retryAfter: 4 }, NOW),
    ).toBe(3000)
    expect(
      parseRetryAfter({ headers: {}, response: { headers: {} }, $response: { headers }, retryAfter: 4 }, NOW),
    ).toBe(2000)
    expect(parseRetryAfter({ headers: {}, response: {}, retryAfter: 4 }, NOW)).toBe(4)
    expect(parseRetryAfter(new Response(null, { headers }), NOW)).toBe(2000)
  })

  it.each([
    [0, 0],
    [1500, 1500],
    [0.5, 1],
    [-1, undefined],
    [Number.NaN, undefined],
    [Number.POSITIVE_INFINITY, undefined],
    ['5', undefined],
    [null, undefined],
  ])('retryAfter %s is %s', (retryAfter, ms) => {
    expect(parseRetryAfter(shaped({ retryAfter }), NOW)).toBe(ms)
  })

  it.each([undefined, null, 'x', 3, {}, { headers: null }, { headers: 'retry-after: 2' }, { response: 3 }])(
    'is not %j',
    (source) => {
      expect(parseRetryAfter(source, NOW)).toBeUndefined()
    },
  )

  it('never throws', () => {
    const bad = {
      get headers(): never {
        throw new Error('no')
      },
    }
    expect(parseRetryAfter(bad, NOW)).toBeUndefined()
  })

  it('reads a clock only for dates', () => {
    let asked = 0
    const clock = () => {
      asked++
      return NOW
    }
    expect(parseRetryAfter({ headers }, clock)).toBe(2000)
    expect(asked).toBe(0)
    expect(parseRetryAfter({ headers: { 'retry-after': 'Thu, 06 Nov 2025 10:00:07 GMT' } }, clock)).toBe(7000)
    expect(asked).toBe(1)
  })

  it('uses the time passed to classify, or else the system clock', () => {
    const error = shaped({ status: 503, headers: { 'retry-after': 'Thu, 06 Nov 2025 10:00:07 GMT' } })
    expect(classify(error, NOW).retryAfter).toBe(7000)
    expect(classify(error, NOW + 7000).retryAfter).toBe(0)
    const past = shaped({ status: 503, headers: { 'retry-after': 'Thu, 06 Nov 1997 10:00:07 GMT' } })
    expect(classify(past).retryAfter).toBe(0)
  })
})

describe('any header', () => {
  it('is ignored, or a finite delay of whole milliseconds', () => {
    const value = fc.oneof(
      fc.string(),
      fc.double(),
      fc.double().map(String),
      fc.date({ noInvalidDate: true }).map((d) => d.toUTCString()),
    )
    const name = fc.constantFrom(
      'retry-after',
      'Retry-After-Ms',
      'X-RateLimit-Reset',
      'x-ratelimit-remaining',
    )
    fc.assert(
      fc.property(fc.dictionary(name, fc.oneof(value, fc.array(value))), (headers) => {
        const ms = of(headers)
        if (ms === undefined) return
        expect(ms).toBeGreaterThanOrEqual(0)
        expect(Number.isFinite(ms)).toBe(true)
      }),
    )
  })

  it('of seconds never ends early', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e6, noNaN: true }), (seconds) => {
        const text = seconds.toFixed(6)
        const ms = of({ 'retry-after': text }) as number
        expect(ms).toBeGreaterThanOrEqual(Number(text) * 1000 - 1e-6)
        expect(ms).toBeLessThan(Number(text) * 1000 + 1)
      }),
    )
  })
})

// `retry` ignored Retry-After in the plain headers of an error, and `retry-after-ms`.
import { expect, it } from 'vitest'
import { classify, guard } from '../../src/index.js'
import { retry } from '../../src/retry-function/index.js'
import { fakeClock } from '../../src/testing/index.js'

const options = { maxAttempts: 2, baseDelay: 100 } as const
type Clock = ReturnType<typeof fakeClock>

/** The delay between the two attempts of a call. */
async function delayOf(
  run: (fn: () => Promise<never>, clock: Clock) => Promise<unknown>,
  facts: object,
): Promise<number> {
  const clock = fakeClock({ wall: Date.UTC(2026, 0, 1) })
  const times: number[] = []
  const fn = () => {
    times.push(clock.now())
    return Promise.reject(Object.assign(new Error('slow down'), { status: 429, ...facts }))
  }
  const call = run(fn, clock).catch(() => {})
  await clock.advance(120_000)
  await call
  return (times[1] as number) - (times[0] as number)
}

it.each([
  ['a plain object', { headers: { 'retry-after': '7' } }, 7000],
  ['a plain object with a number', { headers: { 'retry-after': 7 } }, 7000],
  ['a name in another case', { headers: { 'Retry-After': '7' } }, 7000],
  ['a list of values', { headers: { 'retry-after': ['7'] } }, 7000],
  ['the plain headers of a response', { response: { status: 429, headers: { 'retry-after': '7' } } }, 7000],
  ['fractions of a second', { headers: { 'retry-after': '0.0015' } }, 2],
  ['a date in a plain object', { headers: { 'retry-after': 'Thu, 01 Jan 2026 00:00:05 GMT' } }, 5000],
  ['a date in the past', { headers: { 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' } }, 0],
  ['milliseconds', { headers: new Headers({ 'retry-after-ms': '1500', 'retry-after': '7' }) }, 1500],
  ['milliseconds in a plain object', { headers: { 'retry-after': '7', 'Retry-After-Ms': '1500' } }, 1500],
  ['milliseconds that cannot be parsed', { headers: { 'retry-after': '7', 'retry-after-ms': '' } }, 7000],
  ['0', { headers: { 'retry-after': '0' } }, 0],
  ['a negative number', { headers: { 'retry-after': '-7' } }, 100],
  ['a text', { headers: { 'retry-after': 'soon' } }, 100],
  ['a property', { headers: {}, retryAfter: 300 }, 300],
  ['no headers', { headers: null }, 100],
])('retry waits as long as a guard for a Retry-After in %s', async (_, facts, expected) => {
  const byRetry = await delayOf((fn, clock) => retry(fn, { ...options, clock }), facts)
  const byGuard = await delayOf((fn, clock) => guard({ retry: options, clock }).run(fn), facts)
  expect([byRetry, byGuard]).toEqual([expected, expected])
})

it('retry reads the other sources of a Retry-After by the function classify', async () => {
  const facts = { headers: { 'x-ratelimit-reset': '7' } }
  expect(await delayOf((fn, clock) => retry(fn, { ...options, clock }), facts)).toBe(100)
  expect(await delayOf((fn, clock) => retry(fn, { ...options, clock, classify }), facts)).toBe(7000)
})

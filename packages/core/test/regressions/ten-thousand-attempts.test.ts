// Attempt 10,000 had a NaN, negative or zero delay, because the growth had overflowed.
import { expect, it } from 'vitest'
import { type Backoff, guard, type Jitter } from '../../src/index.js'
import { fakeClock, seededRandom } from '../../src/testing/index.js'
import { fate } from '../guard/watch.js'

const CALLS = 10_000

/** The delays of a call that fails 10,000 times. */
async function waits(backoffType: Backoff, jitterType: Jitter, maxDelay: number): Promise<number[]> {
  const clock = { ...fakeClock(), setTimer: (fn: () => void) => queueMicrotask(fn) }
  const retry = { backoffType, jitterType, jitterAmount: 0.5, jitterMax: 10, baseDelay: 100, maxDelay }
  const api = guard({ clock, random: seededRandom(1), retry: { ...retry, maxAttempts: CALLS } })
  const seen: number[] = []
  api.on((event) => event.type === 'retry_scheduled' && seen.push(event.delay))
  const error = new Error('down')
  const call = fate(api.run(() => Promise.reject(error)))
  await fakeClock().advance(0)
  expect(call.state).toBe('rejected')
  return seen
}

const ENDLESS = Number.POSITIVE_INFINITY

it.each([
  ['exponential', 'none', 30_000],
  ['exponential', 'full', 30_000],
  ['exponential', 'decorrelated', 30_000],
  ['exponential', 'proportional', 30_000],
  ['exponential', 'additive', 30_000],
  ['exponential', 'none', ENDLESS],
  ['exponential', 'decorrelated', ENDLESS],
  ['fibonacci', 'none', ENDLESS],
] as const)(
  '10,000 attempts with %s backoff, %s jitter and a cap of %d ms each have a valid delay',
  async (backoffType, jitterType, cap) => {
    const seen = await waits(backoffType, jitterType, cap)
    expect(seen).toHaveLength(CALLS - 1)
    expect(seen.filter((ms) => !(ms > 0 && ms <= cap && ms < ENDLESS))).toEqual([])
  },
)

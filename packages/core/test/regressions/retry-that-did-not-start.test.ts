// A retry that was withdrawn from the budget and did not start stayed withdrawn, unless `beforeRetry` had thrown.
import { expect, it } from 'vitest'
import { type GuardOptions, guard, RetryBudget } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

const down = () => Promise.reject(new Error('down'))

/** A guard with one retry in its budget, whose first attempt has failed, and which waits a second before the retry. */
async function startWaiting(options: GuardOptions = {}, signal?: AbortSignal) {
  const clock = fakeClock()
  const budget = new RetryBudget({ ratio: 0, reservePerSecond: 0.1, window: 10_000, clock })
  const retry = { backoffType: 'fixed', baseDelay: 1000, jitterType: 'none', maxAttempts: 2 } as const
  const api = guard({ budget, clock, ...options, retry: { ...retry, ...options.retry } })
  const calls: unknown[] = []
  const ended = api
    .run(
      (attempt) => {
        calls.push(attempt)
        return down()
      },
      { signal },
    )
    .catch(() => {})
  await clock.advance(1)
  expect(budget.left).toBe(0)
  return { api, budget, clock, calls, ended }
}

it('returns the retry to the budget if the breaker opens during the delay', async () => {
  const { api, budget, clock, calls, ended } = await startWaiting({ breaker: { failureThreshold: 2 } })
  api.breaker?.trip()
  await clock.advance(2000)
  await ended
  expect(calls).toHaveLength(1)
  expect(budget.left).toBe(1)
})

it('returns the retry to the budget if the caller aborts during the delay', async () => {
  const controller = new AbortController()
  const { budget, calls, ended } = await startWaiting({}, controller.signal)
  controller.abort()
  await ended
  expect(calls).toHaveLength(1)
  expect(budget.left).toBe(1)
})

it('returns the retry to the budget if the total deadline passes while beforeRetry runs', async () => {
  const { budget, clock, calls, ended } = await startWaiting({
    retry: { beforeRetry: () => new Promise(() => {}) },
    timeout: { total: 2000 },
  })
  await clock.advance(3000)
  await ended
  expect(calls).toHaveLength(1)
  expect(budget.left).toBe(1)
})

it('does not return a retry that started and failed', async () => {
  const { budget, clock, calls, ended } = await startWaiting()
  await clock.advance(2000)
  await ended
  expect(calls).toHaveLength(2)
  expect(budget.left).toBe(0)
})

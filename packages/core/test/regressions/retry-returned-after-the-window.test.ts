import { expect, it } from 'vitest'
import { guard, RetryBudget } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

it('grants no further retry if beforeRetry throws after the window of the budget', async () => {
  const clock = fakeClock()
  const budget = new RetryBudget({ ratio: 0, reservePerSecond: 1, window: 1000, clock })
  const beforeRetry = () => {
    throw new Error('no token')
  }
  const retry = { backoffType: 'fixed', baseDelay: 5000, jitterType: 'none', beforeRetry } as const
  const call = guard({ budget, clock, retry }).run(() => Promise.reject(new Error('down')))
  const ended = call.catch(() => {})
  await clock.advance(500)
  expect(budget.left).toBe(0)
  await clock.advance(5000)
  await ended
  expect(budget.left).toBe(1)
})

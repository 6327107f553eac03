import { fakeClock } from 'holdfast/testing'
import { expect, it } from 'vitest'
import { FleetRetryBudget } from '../../src/retry-budget.js'

it('returns a retry to the borrowed ones, and grants the node no further retry without Redis', async () => {
  const clock = fakeClock()
  const redis = { isUp: true, run: async () => [5, 0] }
  const options = { ratio: 0, reservePerSecond: 1, window: 3000, clock }
  const budget = new FleetRetryBudget('api', redis as never, options)
  await clock.advance(0)
  expect(budget.left).toBe(5)
  expect(budget.withdraw()).toBe(true)
  budget.refund(0)
  expect(budget.left).toBe(5)
  redis.isUp = false
  expect([1, 2, 3, 4].map(() => budget.withdraw())).toEqual([true, true, true, false])
})

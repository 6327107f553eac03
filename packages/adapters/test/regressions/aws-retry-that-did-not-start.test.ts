// A retry of an AWS command that was withdrawn from the budget and did not start stayed withdrawn.
import { CircuitBreaker, RetryBudget } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import { fakeClock } from 'holdfast/testing'
import { expect, it } from 'vitest'
import { createRetryStrategy } from '../../src/aws/index.js'

/** A strategy with one retry in its budget, which waits a second before it allows the retry of a command. */
async function startWaiting() {
  const clock = fakeClock()
  const breaker = new CircuitBreaker({ id: 'sqs', failureThreshold: 9, clock })
  const budget = new RetryBudget({ ratio: 0, reservePerSecond: 0.1, window: 10_000, clock })
  const retry = { backoffType: 'fixed', baseDelay: 1000, jitterType: 'none', maxAttempts: 2 } as const
  const strategy = createRetryStrategy({ retry, breaker, budget, clock })
  const token = await strategy.acquireInitialRetryToken('command')
  const renewed = strategy.refreshRetryTokenForRetry(token, {
    error: Object.assign(new Error('down'), { $metadata: { httpStatusCode: 503 } }),
    errorType: 'TRANSIENT',
  })
  expect(budget.left).toBe(0)
  return { clock, breaker, budget, renewed }
}

/** Resolves when the timers have fired that check whether the SDK uses a token. */
const untilChecked = () => new Promise<void>((resolve) => systemClock.setTimer(resolve, 0))

it('returns the retry to the budget if the breaker opens during the delay', async () => {
  const { clock, breaker, budget, renewed } = await startWaiting()
  breaker.trip()
  const rejected = expect(renewed).rejects.toMatchObject({ code: 'CIRCUIT_OPEN' })
  await clock.advance(1000)
  await rejected
  expect(budget.left).toBe(1)
})

it('returns the retry to the budget if the SDK does not use its token, because the command was aborted', async () => {
  const { clock, budget, renewed } = await startWaiting()
  await clock.advance(1000)
  await renewed
  await untilChecked()
  expect(budget.left).toBe(1)
})

it('does not return a retry whose token the SDK uses', async () => {
  const { clock, budget, renewed } = await startWaiting()
  await clock.advance(1000)
  expect((await renewed).getRetryCount()).toBe(1)
  await untilChecked()
  expect(budget.left).toBe(0)
})

import { CircuitBreaker, type CircuitBreakerOptions } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { NaiveBreakerModel } from '../src/invariants/naive-breaker-model.js'
import type { Process } from '../src/process/simulated-node.js'

/** A breaker that is compared with a naive one. */
function watch(options: CircuitBreakerOptions) {
  const clock = fakeClock()
  const breaker = new CircuitBreaker({
    id: 'api',
    clock,
    failureThreshold: 2,
    timeoutDuration: 100,
    ...options,
  })
  const model = new NaiveBreakerModel((fn) => fn())
  model.watch({ name: 'n0.1', clock, isAlive: true } as unknown as Process, breaker)
  return { breaker, clock, model }
}

describe('the model of one breaker', () => {
  it.each([
    {},
    { windowType: 'consecutive', successThreshold: 2 },
    { windowType: 'rate', failureRate: 0.5, minimumCalls: 2, halfOpenMax: 2 },
    { timeoutMultiplier: 2, maxTimeoutDuration: 150 },
  ] as const)('accepts a breaker that opens, probes and closes: %j', async (options) => {
    const { breaker, clock, model } = watch(options)
    for (let round = 0; round < 4; round++) {
      breaker.admit()?.success()
      while (breaker.state === 'closed') breaker.admit()?.failure()
      expect(breaker.admit()).toBeUndefined()
      await clock.advance(150)
      breaker.admit()?.failure()
      await clock.advance(150)
      for (let state: string = breaker.state; state !== 'closed'; state = breaker.state)
        breaker.admit()?.success()
    }
    expect(model.comparisonCount).toBeGreaterThan(20)
  })

  it('reports a failure that counts in another epoch', () => {
    const { breaker } = watch({ failureThreshold: 1 })
    const permit = breaker.admit() as unknown as { epoch: number }
    breaker.reset()
    permit.epoch = breaker.epoch
    expect(() => breaker.release(permit as never, 'failure')).toThrow('counted the failure of a call')
  })

  it('reports a breaker that admits a call while it is open', () => {
    const { breaker } = watch({})
    breaker.trip()
    breaker.openUntil = 0
    expect(() => breaker.tryAcquire({ epoch: 0, startedAt: 0, leaseEnd: 0 }, undefined)).toThrow(
      'n0.1 admitted a call of api, which is open',
    )
  })

  it('reports another number of failures', () => {
    const { breaker } = watch({ failureThreshold: 3 })
    breaker.admit()?.failure()
    breaker.window = undefined
    expect(() => breaker.admit()).toThrow('failureCount 0 after tryAcquire, expected 1')
  })
})

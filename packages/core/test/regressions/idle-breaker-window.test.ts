import { expect, it } from 'vitest'
import type { CircuitBreakerOptions } from '../../src/index.js'
import { fail, made } from '../breaker/setup.js'

it.each<[string, CircuitBreakerOptions]>([
  ['rolling', { failureThreshold: 3 }],
  ['rate', { failureRate: 0.5, minimumCalls: 3 }],
])('a %s window that was idle for an hour counts no earlier result', async (_, options) => {
  const { breaker, clock } = made(options)
  fail(breaker, 2)
  await clock.advance(3_600_000)
  expect(breaker.failureCount).toBe(0)
  expect(breaker.snapshot().failureWindow).toEqual([])
  fail(breaker, 2)
  expect(breaker.state).toBe('closed')
  expect(breaker.failureCount).toBe(2)
})

it.each<[string, CircuitBreakerOptions]>([
  ['rolling', { failureThreshold: 3 }],
  ['rate', { failureRate: 0.5, minimumCalls: 3 }],
])(
  'the first failure after an idle hour counts alone in a %s window that was not read meanwhile',
  async (_, options) => {
    const { breaker, clock } = made(options)
    fail(breaker, 2)
    await clock.advance(3_600_000)
    fail(breaker)
    expect(breaker.state).toBe('closed')
  },
)

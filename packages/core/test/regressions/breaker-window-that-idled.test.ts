import { expect, it } from 'vitest'
import type { CircuitBreakerOptions } from '../../src/index.js'
import { fail, made } from '../breaker/setup.js'

it.each<[string, CircuitBreakerOptions]>([
  ['rolling', { failureThreshold: 3 }],
  ['rate', { failureRate: 0.5, minimumCalls: 3 }],
])('a %s window that idled for an hour counts nothing of before', async (_, options) => {
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
])('nor does the first failure after it in a %s window, when nobody looked meanwhile', async (_, options) => {
  const { breaker, clock } = made(options)
  fail(breaker, 2)
  await clock.advance(3_600_000)
  fail(breaker)
  expect(breaker.state).toBe('closed')
})

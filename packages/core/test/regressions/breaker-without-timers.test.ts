import { expect, it } from 'vitest'
import { CircuitBreaker, type CircuitBreakerOptions, guard } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { admitted, fail, succeed } from '../breaker/setup.js'

function countingClock() {
  const clock = fakeClock()
  const asked = { timers: 0 }
  const setTimer = (fn: () => void, ms: number) => {
    asked.timers++
    return clock.setTimer(fn, ms)
  }
  return { clock: { ...clock, setTimer }, asked }
}

it.each<[string, CircuitBreakerOptions]>([
  ['rolling', { failureThreshold: 2 }],
  ['consecutive', { failureThreshold: 2, windowType: 'consecutive' }],
  ['rate', { failureRate: 0.5, minimumCalls: 2, slowCallRate: 0.5, slowCallDuration: 10 }],
])('a breaker with a %s window goes through all states without a timer', async (_, options) => {
  const { clock, asked } = countingClock()
  const breaker = new CircuitBreaker({
    timeoutDuration: 1000,
    timeoutMultiplier: 2,
    adaptive: true,
    clock,
    ...options,
  })
  breaker.on(() => {})
  fail(breaker, 2)
  await breaker.run(() => 'refused').catch(() => {})
  await clock.advance(1000)
  admitted(breaker)
  await clock.advance(1000)
  fail(breaker)
  await clock.advance(2000)
  succeed(breaker)
  expect(breaker.state).toBe('closed')
  breaker.trip()
  CircuitBreaker.restore(breaker.snapshot(), { clock }).admit()
  breaker.reset()
  breaker.disable()
  breaker.enable()
  expect(asked.timers).toBe(0)
})

it('10,000 open breakers of a guard keep no timer', async () => {
  const { clock, asked } = countingClock()
  const kept = guard({
    clock,
    retry: false,
    breaker: { failureThreshold: 1, key: (context) => `${context}` },
  })
  for (let i = 0; i < 10_000; i++)
    await kept.run(() => Promise.reject(new Error('down')), { context: i }).catch(() => {})
  expect(kept.breakers?.get('9999')?.state).toBe('open')
  expect(asked.timers).toBe(0)
})

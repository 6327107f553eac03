import { expect, it } from 'vitest'
import type { CircuitBreakerOptions } from '../../src/index.js'
import { admitted, fail, made, opened, rejectionOf, succeed } from '../breaker/setup.js'

const HOUR = 3_600_000
const STEPS = [
  ['an hour ahead', HOUR],
  ['an hour back', -HOUR],
] as const

const WINDOWS: CircuitBreakerOptions[] = [
  { failureThreshold: 3 },
  { failureThreshold: 3, windowType: 'consecutive' },
  { failureRate: 0.5, minimumCalls: 3 },
]

it.each(STEPS)('a wall clock that steps %s neither opens a breaker nor clears its window', (_, step) => {
  for (const options of WINDOWS) {
    const { breaker, clock } = made(options)
    fail(breaker, 2)
    clock.stepWall(step)
    expect(breaker.state).toBe('closed')
    expect(breaker.failureCount).toBe(2)
    fail(breaker)
    expect(breaker.state).toBe('open')
  }
})

it.each(STEPS)('a wall clock that steps %s neither ends nor prolongs the open time', async (_, step) => {
  const { breaker, clock } = opened()
  await clock.advance(400)
  clock.stepWall(step)
  expect((await rejectionOf(breaker)).retryAfter).toBe(600)
  await clock.advance(599)
  expect(breaker.admit()).toBeUndefined()
  await clock.advance(1)
  expect(breaker.admit()).toBeDefined()
})

it.each(STEPS)(
  'a wall clock that steps %s neither ends nor prolongs the lease of a probe',
  async (_, step) => {
    const { breaker, clock } = opened({ probeLease: 200 })
    await clock.advance(1000)
    admitted(breaker)
    clock.stepWall(step)
    expect(breaker.admit()).toBeUndefined()
    await clock.advance(200)
    expect(breaker.admit()).toBeDefined()
  },
)

it.each(STEPS)('a wall clock that steps %s makes no call slow', (_, step) => {
  const { breaker, clock } = made({ slowCallDuration: 100, slowCallRate: 0.1, minimumCalls: 1 })
  const permit = admitted(breaker)
  clock.stepWall(step)
  permit.success()
  expect(breaker.state).toBe('closed')
})

it.each(STEPS)('a wall clock that steps %s does not count as closed time', async (_, step) => {
  const { breaker, clock } = opened({ timeoutMultiplier: 2 })
  await clock.advance(1000)
  succeed(breaker)
  clock.stepWall(step)
  await clock.advance(999)
  breaker.trip()
  expect((await rejectionOf(breaker)).retryAfter).toBe(2000)
})

import { expect, it } from 'vitest'
import { CircuitBreaker } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { opened } from '../breaker/setup.js'

const options = { timeoutDuration: 30_000 }

it.each([0, 1, 12_345, 29_999])(
  'a breaker restored after %i ms of 30 s half-opens when the 30 s are over',
  async (later) => {
    const { breaker, clock } = opened(options)
    await clock.advance(later)
    const next = fakeClock({ wall: clock.wall() })
    const restored = CircuitBreaker.restore(JSON.parse(JSON.stringify(breaker.snapshot())), {
      ...options,
      clock: next,
    })
    await next.advance(30_000 - later - 1)
    expect(restored.admit()).toBeUndefined()
    await next.advance(1)
    expect(restored.admit()).toBeDefined()
  },
)

it('a breaker restored with another monotonic time does not half-open early', async () => {
  const { breaker, clock } = opened(options)
  const next = fakeClock({ wall: clock.wall() - 7_000_000 })
  await next.advance(7_000_000)
  const restored = CircuitBreaker.restore(breaker.snapshot(), { ...options, clock: next })
  await next.advance(29_999)
  expect(restored.admit()).toBeUndefined()
  await next.advance(1)
  expect(restored.admit()).toBeDefined()
})

it('a breaker that was saved and restored repeatedly does not half-open early', async () => {
  let { breaker, clock } = opened(options)
  for (let i = 0; i < 29; i++) {
    await clock.advance(1000)
    clock = fakeClock({ wall: clock.wall() })
    breaker = CircuitBreaker.restore(JSON.parse(JSON.stringify(breaker.snapshot())), { ...options, clock })
  }
  await clock.advance(999)
  expect(breaker.admit()).toBeUndefined()
  await clock.advance(1)
  expect(breaker.admit()).toBeDefined()
})

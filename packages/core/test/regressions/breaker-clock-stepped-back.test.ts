import { expect, it } from 'vitest'
import { CircuitBreaker } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

/** A clock whose monotonic time an operating system sets back, as some do after a sleep. */
function wobbling() {
  const clock = fakeClock()
  let offset = 0
  return { ...clock, now: () => clock.now() + offset, stepBack: (ms: number) => (offset -= ms) }
}

it('a monotonic clock that goes back does not extend the open time of a breaker', async () => {
  const clock = wobbling()
  const breaker = new CircuitBreaker({ clock })
  breaker.trip()
  clock.stepBack(3_600_000)
  expect(breaker.admit()).toBeUndefined()
  await clock.advance(30_000)
  expect(breaker.admit()).toBeDefined()
})

it('a monotonic clock that goes back does not extend the lease of a hung probe', async () => {
  const clock = wobbling()
  const breaker = new CircuitBreaker({ clock })
  breaker.trip()
  await clock.advance(30_000)
  breaker.admit()
  expect(breaker.admit()).toBeUndefined()
  clock.stepBack(3_600_000)
  expect(breaker.admit()).toBeDefined()
})

// `console.log(guard())` printed a hundred lines of internals.
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { CircuitBreaker, guard, Pool, RetryBudget } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

const clock = fakeClock()

describe('console.log', () => {
  it.each([
    ['a guard', guard(), 'Guard { name: undefined }'],
    [
      'a guard with a breaker',
      guard({ name: 'api', breaker: {} }),
      `Guard {
  name: 'api',
  breaker: CircuitBreaker { id: 'api', state: 'closed', failureCount: 0 }
}`,
    ],
    [
      'a guard with breakers by key',
      guard({ breaker: { key: String } }),
      'Guard { name: undefined, breakers: 0 }',
    ],
    [
      'a breaker',
      new CircuitBreaker({ id: 'b' }),
      "CircuitBreaker { id: 'b', state: 'closed', failureCount: 0 }",
    ],
    [
      'a pool',
      new Pool({ id: 'p', members: [{ id: 'a', value: 'secret' }] }),
      "Pool { id: 'p', strategy: 'round_robin', size: 1 }",
    ],
    ['a retry budget', new RetryBudget({ clock }), 'RetryBudget { left: 100 }'],
  ])('shows %s in a few words', (_, object, shown) => {
    expect(inspect(object)).toBe(shown)
  })

  it('shows the same inside another object', () => {
    expect(inspect({ a: { b: { c: new CircuitBreaker() } } }).split('\n').length).toBeLessThan(8)
  })
})

import { CircuitBreaker, guard, Pool } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'

type Link = NonNullable<CircuitBreaker['link']>

/** A link that has tests wait until a time, and notes what it is told. */
function held(until: number): Link & { until: number; told: unknown[] } {
  const told: unknown[] = []
  return {
    wanted: false,
    until,
    told,
    turn(_, now) {
      return Math.max(now, this.until)
    },
    begun: () => void told.push('begun'),
    ended: (_, verdict) => void told.push(['ended', verdict]),
    counted: (phase, failed) => void told.push([phase, failed]),
    ordered: (order) => void told.push(order),
  }
}

describe('a breaker with a link', () => {
  it('waits for its turn, and refuses until then', async () => {
    const clock = fakeClock()
    const breaker = new CircuitBreaker({ id: 'api', timeoutDuration: 100, clock })
    const link = held(clock.now() + 250)
    breaker.trip()
    breaker.link = link
    expect(breaker.admit()).toBeUndefined()
    expect(link.wanted).toBe(true)
    await clock.advance(100)
    expect(breaker.admit()).toBeUndefined()
    expect(breaker.refusal().retryAfter).toBe(150)
    await clock.advance(150)
    breaker.admit()?.success()
    expect(breaker.state).toBe('closed')
    expect(link.told).toEqual(['begun', ['ended', 'success'], ['half_open', false]])
  })

  it('keeps the tests that it has in flight when others must wait', async () => {
    const clock = fakeClock()
    const breaker = new CircuitBreaker({ id: 'api', timeoutDuration: 100, halfOpenMax: 3, clock })
    const link = held(0)
    breaker.trip()
    breaker.link = link
    await clock.advance(100)
    const first = breaker.admit()
    link.until = clock.now() + 40
    expect(breaker.admit()).toBeUndefined()
    expect(breaker.refusal().retryAfter).toBe(40)
    first?.success()
    expect(breaker.state).toBe('closed')
  })

  it('tells of orders, and not of what it follows', () => {
    const breaker = new CircuitBreaker({ id: 'api' })
    const link = held(0)
    breaker.link = link
    breaker.trip()
    breaker.reset()
    breaker.disable()
    breaker.trip()
    breaker.enable()
    breaker.follow({ state: 'open', left: 50, openFor: 100, openings: 1, failures: 3, off: false })
    expect(breaker.state).toBe('open')
    breaker.follow({ state: 'closed', left: 0, openFor: 0, openings: 0, failures: 0, off: false })
    expect(link.told).toEqual(['trip', 'reset', 'disable', 'enable'])
  })

  it('leaves its pool to choose another member while it waits', async () => {
    const clock = fakeClock()
    const members = [
      { id: 'a', value: 1 },
      { id: 'b', value: 2 },
    ]
    const pool = new Pool({ id: 'p', members, clock, breaker: { timeoutDuration: 100, halfOpenMax: 2 } })
    const breaker = pool.breaker('a')
    const link = held(0)
    breaker.trip()
    breaker.link = link
    await clock.advance(100)
    // One test is in flight here, and the other place is taken elsewhere.
    breaker.admit()
    link.until = clock.now() + 1000
    const chosen = await Promise.all(
      [1, 2, 3].map(() => guard({ pool, clock }).run(({ member }) => member?.id)),
    )
    expect(chosen).toEqual(['b', 'b', 'b'])
  })
})

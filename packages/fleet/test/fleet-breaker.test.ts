import { CircuitBreaker, guard, Pool } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'

type Link = NonNullable<CircuitBreaker['coordinator']>

/** A link that has tests wait until a time, and notes what it is told. */
function held(until: number): Link & { until: number; told: unknown[] } {
  const told: unknown[] = []
  return {
    isProbeWanted: false,
    until,
    told,
    probeAllowedAt(_, now) {
      return Math.max(now, this.until)
    },
    onProbeStarted: () => void told.push('begun'),
    onProbeEnded: (_, verdict) => void told.push(['ended', verdict]),
    onResult: (phase, failed) => void told.push([phase, failed]),
    onCommand: (order) => void told.push(order),
  }
}

describe('a breaker with a link', () => {
  it('waits for its turn, and refuses until then', async () => {
    const clock = fakeClock()
    const breaker = new CircuitBreaker({ id: 'api', timeoutDuration: 100, clock })
    const link = held(clock.now() + 250)
    breaker.trip()
    breaker.coordinator = link
    expect(breaker.admit()).toBeUndefined()
    expect(link.isProbeWanted).toBe(true)
    await clock.advance(100)
    expect(breaker.admit()).toBeUndefined()
    expect(breaker.createOpenError().retryAfter).toBe(150)
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
    breaker.coordinator = link
    await clock.advance(100)
    const first = breaker.admit()
    link.until = clock.now() + 40
    expect(breaker.admit()).toBeUndefined()
    expect(breaker.createOpenError().retryAfter).toBe(40)
    first?.success()
    expect(breaker.state).toBe('closed')
  })

  it('tells of orders, and not of what it follows', () => {
    const breaker = new CircuitBreaker({ id: 'api' })
    const link = held(0)
    breaker.coordinator = link
    breaker.trip()
    breaker.reset()
    breaker.disable()
    breaker.trip()
    breaker.enable()
    breaker.applyRemoteState({ state: 'open', left: 50, openFor: 100, openings: 1, failures: 3, off: false })
    expect(breaker.state).toBe('open')
    breaker.applyRemoteState({ state: 'closed', left: 0, openFor: 0, openings: 0, failures: 0, off: false })
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
    breaker.coordinator = link
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

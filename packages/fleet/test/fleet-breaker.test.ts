import { CircuitBreaker, guard, Pool } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'

type Link = NonNullable<CircuitBreaker['coordinator']>

/** A coordinator that delays probes until a time, and records its notifications. */
function delayingCoordinator(until: number): Link & { until: number; notifications: unknown[] } {
  const notifications: unknown[] = []
  return {
    isProbeWanted: false,
    until,
    notifications,
    probeAllowedAt(_, now) {
      return Math.max(now, this.until)
    },
    onProbeStarted: () => void notifications.push('started'),
    onProbeEnded: (_, outcome) => void notifications.push(['ended', outcome]),
    onResult: (state, failed) => void notifications.push([state, failed]),
    onCommand: (command) => void notifications.push(command),
  }
}

describe('a breaker with a coordinator', () => {
  it('rejects calls until the coordinator allows a probe', async () => {
    const clock = fakeClock()
    const breaker = new CircuitBreaker({ id: 'api', timeoutDuration: 100, clock })
    const link = delayingCoordinator(clock.now() + 250)
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
    expect(link.notifications).toEqual(['started', ['ended', 'success'], ['half_open', false]])
  })

  it('keeps a probe in flight while the coordinator delays further ones', async () => {
    const clock = fakeClock()
    const breaker = new CircuitBreaker({ id: 'api', timeoutDuration: 100, halfOpenMax: 3, clock })
    const link = delayingCoordinator(0)
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

  it('notifies the coordinator of operator commands, and not of remote states that it applies', () => {
    const breaker = new CircuitBreaker({ id: 'api' })
    const link = delayingCoordinator(0)
    breaker.coordinator = link
    breaker.trip()
    breaker.reset()
    breaker.disable()
    breaker.trip()
    breaker.enable()
    breaker.applyRemoteState({ state: 'open', left: 50, openFor: 100, openings: 1, failures: 3, off: false })
    expect(breaker.state).toBe('open')
    breaker.applyRemoteState({ state: 'closed', left: 0, openFor: 0, openings: 0, failures: 0, off: false })
    expect(link.notifications).toEqual(['trip', 'reset', 'disable', 'enable'])
  })

  it('makes its pool select another member while the coordinator delays probes', async () => {
    const clock = fakeClock()
    const members = [
      { id: 'a', value: 1 },
      { id: 'b', value: 2 },
    ]
    const pool = new Pool({ id: 'p', members, clock, breaker: { timeoutDuration: 100, halfOpenMax: 2 } })
    const breaker = pool.breaker('a')
    const link = delayingCoordinator(0)
    breaker.trip()
    breaker.coordinator = link
    await clock.advance(100)
    // One probe is in flight here, and the other permit is held by another node.
    breaker.admit()
    link.until = clock.now() + 1000
    const chosen = await Promise.all(
      [1, 2, 3].map(() => guard({ pool, clock }).run(({ member }) => member?.id)),
    )
    expect(chosen).toEqual(['b', 'b', 'b'])
  })
})

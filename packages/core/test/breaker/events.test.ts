import { afterEach, describe, expect, it, vi } from 'vitest'
import { type BreakerEvent, type CircuitBreaker, guard } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { admitted, fail, made, opened, succeed } from './setup.js'

afterEach(() => vi.restoreAllMocks())

/** The events of a breaker, as `from>to`. */
function changesOf(breaker: CircuitBreaker): string[] {
  const changes: string[] = []
  breaker.on(({ fromState, toState }) => changes.push(`${fromState}>${toState}`))
  return changes
}

describe('the events of a breaker', () => {
  it('report each state change in order', async () => {
    const { breaker, clock } = made({ failureThreshold: 1, timeoutDuration: 1000 })
    const changes = changesOf(breaker)
    fail(breaker)
    await clock.advance(1000)
    fail(breaker)
    await clock.advance(1000)
    succeed(breaker)
    breaker.trip()
    breaker.reset()
    expect(changes).toEqual([
      'closed>open',
      'open>half_open',
      'half_open>open',
      'open>half_open',
      'half_open>closed',
      'closed>open',
      'open>closed',
    ])
  })

  it('have the id, the wall time and the number of failures', async () => {
    const { breaker, clock } = made({ id: 'mail', failureThreshold: 2, timeoutDuration: 1000 })
    const events: BreakerEvent[] = []
    breaker.on((event) => events.push(event))
    const start = clock.wall()
    fail(breaker, 2)
    clock.stepWall(50)
    await clock.advance(1000)
    fail(breaker)
    await clock.advance(1000)
    succeed(breaker)
    expect(events).toEqual([
      { id: 'mail', fromState: 'closed', toState: 'open', timestamp: start, failureCount: 2 },
      { id: 'mail', fromState: 'open', toState: 'half_open', timestamp: start + 1050, failureCount: 2 },
      { id: 'mail', fromState: 'half_open', toState: 'open', timestamp: start + 1050, failureCount: 3 },
      { id: 'mail', fromState: 'open', toState: 'half_open', timestamp: start + 2050, failureCount: 3 },
      { id: 'mail', fromState: 'half_open', toState: 'closed', timestamp: start + 2050, failureCount: 0 },
    ])
  })

  it('are emitted when the state is already the new one', () => {
    const { breaker } = made()
    let seen: unknown
    breaker.on(() => (seen = [breaker.state, breaker.admit()]))
    breaker.trip()
    expect(seen).toEqual(['open', undefined])
  })

  it('are not emitted where the state does not change', () => {
    const { breaker } = made()
    const changes = changesOf(breaker)
    fail(breaker)
    breaker.reset()
    breaker.trip()
    breaker.trip()
    expect(changes).toEqual(['closed>open'])
  })

  it('go to every listener, in the order in which they were added', () => {
    const { breaker } = made()
    const received: number[] = []
    for (let i = 0; i < 3; i++) breaker.on(() => received.push(i))
    breaker.trip()
    expect(received).toEqual([0, 1, 2])
  })

  it('no longer go to a listener that was removed, and still to the others', () => {
    const { breaker } = made()
    const received: string[] = []
    const off = breaker.on(() => received.push('first'))
    breaker.on(() => received.push('second'))
    off()
    off()
    breaker.trip()
    expect(received).toEqual(['second'])
  })

  it('go twice to a listener that was added twice, until each is removed', () => {
    const { breaker } = made()
    let received = 0
    const listener = () => received++
    const off = breaker.on(listener)
    breaker.on(listener)
    breaker.trip()
    expect(received).toBe(2)
    off()
    breaker.reset()
    expect(received).toBe(3)
  })

  it('reach the listeners of a guard that has the breaker', async () => {
    const clock = fakeClock()
    const kept = guard({ name: 'api', clock, retry: false, breaker: { failureThreshold: 1 } })
    const events: object[] = []
    kept.on((event) => event.type === 'breaker_changed' && events.push(event))
    await kept.run(() => Promise.reject(new Error('down'))).catch(() => {})
    expect(events).toEqual([
      {
        type: 'breaker_changed',
        id: 'api',
        fromState: 'closed',
        toState: 'open',
        timestamp: clock.wall(),
        failureCount: 1,
      },
    ])
  })
})

describe('a listener that throws', () => {
  const oops = new Error('oops')
  const throwing = () => () => {
    throw oops
  }

  it('is reported once', () => {
    const said = vi.spyOn(console, 'error').mockImplementation(() => {})
    const { breaker } = made()
    breaker.on(throwing())
    for (let i = 0; i < 5; i++) {
      breaker.trip()
      breaker.reset()
    }
    expect(said).toHaveBeenCalledTimes(1)
    expect(said.mock.lastCall?.[0]).toContain('listener of a circuit breaker')
    expect(said.mock.lastCall?.[1]).toBe(oops)
  })

  it('does not keep events from other listeners', () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { breaker } = made()
    breaker.on(throwing())
    const changes = changesOf(breaker)
    breaker.on(throwing())
    breaker.trip()
    breaker.reset()
    expect(changes).toEqual(['closed>open', 'open>closed'])
  })

  it('loses neither the result of a call nor its outcome', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { breaker, clock } = opened()
    breaker.on(throwing())
    await clock.advance(1000)
    await expect(breaker.run(async () => 'up')).resolves.toBe('up')
    expect(breaker.state).toBe('closed')
    const down = new Error('down')
    for (let i = 0; i < 3; i++) await expect(breaker.run(() => Promise.reject(down))).rejects.toBe(down)
    expect(breaker.state).toBe('open')
  })
})

describe('a listener that changes the breaker', () => {
  it('can reset one that opens', () => {
    const { breaker } = made({ failureThreshold: 2 })
    breaker.on(({ toState }) => toState === 'open' && breaker.reset())
    fail(breaker, 2)
    expect(breaker.state).toBe('closed')
    expect(breaker.failureCount).toBe(0)
    expect(breaker.admit()).toBeDefined()
  })

  it('can trip one that closes', async () => {
    const { breaker, clock } = opened()
    breaker.on(({ toState }) => toState === 'closed' && breaker.trip())
    await clock.advance(1000)
    succeed(breaker)
    expect(breaker.state).toBe('open')
    expect(breaker.admit()).toBeUndefined()
  })

  it('can trip one that half-opens, and the call is rejected', async () => {
    const { breaker, clock } = opened()
    const off = breaker.on(({ toState }) => toState === 'half_open' && breaker.trip())
    await clock.advance(1000)
    expect(breaker.admit()).toBeUndefined()
    expect(breaker.state).toBe('open')
    off()
    await clock.advance(1000)
    expect(breaker.admit()).toBeDefined()
  })

  it('can reset one that half-opens, and the call is admitted by a closed one', async () => {
    const { breaker, clock } = opened({ failureThreshold: 3 })
    breaker.on(({ toState }) => toState === 'half_open' && breaker.reset())
    await clock.advance(1000)
    const permit = admitted(breaker)
    expect(breaker.state).toBe('closed')
    permit.failure()
    expect(breaker.failureCount).toBe(1)
  })

  it('can start a probe of one that half-opens, in place of the call', async () => {
    const { breaker, clock } = opened()
    let own: unknown
    breaker.on(({ toState }) => toState === 'half_open' && (own = breaker.admit()))
    await clock.advance(1000)
    expect(breaker.admit()).toBeUndefined()
    expect(own).toBeDefined()
    expect(breaker.state).toBe('half_open')
  })

  it('can disable one that opens', () => {
    const { breaker } = made({ failureThreshold: 1 })
    breaker.on(({ toState }) => toState === 'open' && breaker.disable())
    fail(breaker)
    expect(breaker.disabled).toBe(true)
    expect(breaker.admit()).toBeDefined()
  })

  it('does not change the order of events for later listeners', () => {
    const { breaker } = made({ failureThreshold: 1 })
    breaker.on(({ toState }) => toState === 'open' && breaker.reset())
    const changes = changesOf(breaker)
    fail(breaker)
    expect(changes).toEqual(['closed>open', 'open>closed'])
  })
})

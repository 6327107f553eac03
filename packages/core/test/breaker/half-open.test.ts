import { describe, expect, it } from 'vitest'
import type { CircuitBreakerOptions } from '../../src/index.js'
import { admitted, fail, opened, rejectionOf, succeed } from './setup.js'

/** A breaker whose open time is over, before its first probe. */
async function rested(options: CircuitBreakerOptions = {}) {
  const { breaker, clock } = opened(options)
  await clock.advance(1000)
  return { breaker, clock }
}

describe('a half-open breaker', () => {
  it('admits one probe at a time', async () => {
    const { breaker } = await rested()
    expect(breaker.admit()).toBeDefined()
    expect(breaker.admit()).toBeUndefined()
  })

  it('admits halfOpenMax probes at a time', async () => {
    const { breaker } = await rested({ halfOpenMax: 3 })
    const permits = Array.from({ length: 10 }, () => breaker.admit())
    expect(permits.filter((permit) => permit !== undefined)).toHaveLength(3)
  })

  it('rejects other calls until the lease of the first probe ends', async () => {
    const { breaker, clock } = await rested({ halfOpenMax: 2, probeLease: 200, id: 'mail' })
    admitted(breaker)
    await clock.advance(50)
    admitted(breaker)
    await clock.advance(50)
    const error = await rejectionOf(breaker)
    expect(error.retryAfter).toBe(100)
    expect(error.message).toContain('mail is half_open')
  })

  it('has no nextTestTime', async () => {
    const { breaker } = await rested()
    admitted(breaker)
    expect(breaker.nextTestTime).toBeUndefined()
  })

  it('keeps the count of the failures that opened it', async () => {
    const { breaker } = await rested()
    admitted(breaker)
    expect(breaker.failureCount).toBe(3)
  })

  it('closes with one success', async () => {
    const { breaker } = await rested()
    succeed(breaker)
    expect(breaker.state).toBe('closed')
    expect(breaker.failureCount).toBe(0)
  })

  it('closes with an empty window', async () => {
    const { breaker } = await rested({ windowDuration: 60_000 })
    succeed(breaker)
    fail(breaker, 2)
    expect(breaker.state).toBe('closed')
  })

  it('closes after successThreshold successes', async () => {
    const { breaker } = await rested({ successThreshold: 3 })
    succeed(breaker, 2)
    expect(breaker.state).toBe('half_open')
    succeed(breaker)
    expect(breaker.state).toBe('closed')
  })

  it('admits more probes than halfOpenMax, one after the other', async () => {
    const { breaker } = await rested({ successThreshold: 5, halfOpenMax: 2 })
    succeed(breaker, 4)
    expect(breaker.state).toBe('half_open')
    succeed(breaker)
    expect(breaker.state).toBe('closed')
  })

  it('opens again with one failure, for the whole time', async () => {
    const { breaker } = await rested()
    fail(breaker)
    expect(breaker.state).toBe('open')
    expect((await rejectionOf(breaker)).retryAfter).toBe(1000)
  })

  it('counts the failed probe among the failures that opened it', async () => {
    const { breaker } = await rested()
    fail(breaker)
    expect(breaker.failureCount).toBe(4)
  })

  it('clears its successes when a probe fails', async () => {
    const { breaker, clock } = await rested({ successThreshold: 2 })
    succeed(breaker)
    fail(breaker)
    await clock.advance(1000)
    succeed(breaker)
    expect(breaker.state).toBe('half_open')
  })

  it('clears its successes when it is tripped', async () => {
    const { breaker, clock } = await rested({ successThreshold: 2 })
    succeed(breaker)
    breaker.trip()
    expect(breaker.state).toBe('open')
    await clock.advance(1000)
    succeed(breaker)
    expect(breaker.state).toBe('half_open')
  })

  it('clears its successes when it closes', async () => {
    const { breaker, clock } = await rested({ successThreshold: 2 })
    succeed(breaker, 2)
    fail(breaker, 3)
    await clock.advance(1000)
    succeed(breaker)
    expect(breaker.state).toBe('half_open')
  })

  it('closes when it is reset, and ignores its probes', async () => {
    const { breaker } = await rested()
    const probe = admitted(breaker)
    breaker.reset()
    probe.failure()
    expect(breaker.state).toBe('closed')
    expect(breaker.failureCount).toBe(0)
  })

  it('keeps the failures that opened it when it is tripped', async () => {
    const { breaker } = await rested()
    admitted(breaker)
    breaker.trip()
    expect(breaker.failureCount).toBe(3)
  })

  it('releases the permit of a probe as soon as that has succeeded', async () => {
    const { breaker } = await rested({ successThreshold: 2 })
    const probe = admitted(breaker)
    expect(breaker.admit()).toBeUndefined()
    probe.success()
    expect(breaker.admit()).toBeDefined()
  })

  it('releases the permit of the probe that ended and not that of another', async () => {
    const { breaker, clock } = await rested({ halfOpenMax: 2, successThreshold: 9, probeLease: 100 })
    const first = admitted(breaker)
    await clock.advance(50)
    const second = admitted(breaker)
    second.success()
    await clock.advance(25)
    admitted(breaker)
    // The first has 25 left, the third 100: had the first been freed, it would be 100.
    expect((await rejectionOf(breaker)).retryAfter).toBe(25)
    first.success()
    expect(breaker.admit()).toBeDefined()
  })

  it('ignores probes that were running when it opened again', async () => {
    const { breaker, clock } = await rested({ halfOpenMax: 2 })
    const first = admitted(breaker)
    const second = admitted(breaker)
    first.failure()
    second.success()
    expect(breaker.state).toBe('open')
    await clock.advance(1000)
    expect(breaker.admit()).toBeDefined()
    expect(breaker.admit()).toBeDefined()
    expect(breaker.admit()).toBeUndefined()
  })

  it('opens again with a probe that succeeds too slowly', async () => {
    const { breaker, clock } = await rested({
      slowCallDuration: 100,
      slowCallRate: 0.5,
      failureRate: 0.5,
      minimumCalls: 3,
    })
    const probe = admitted(breaker)
    await clock.advance(100)
    probe.success()
    expect(breaker.state).toBe('open')
  })

  it('closes with a probe that succeeds just in time', async () => {
    const { breaker, clock } = await rested({
      slowCallDuration: 100,
      slowCallRate: 0.5,
      failureRate: 0.5,
      minimumCalls: 3,
    })
    const probe = admitted(breaker)
    await clock.advance(99)
    probe.success()
    expect(breaker.state).toBe('closed')
  })
})

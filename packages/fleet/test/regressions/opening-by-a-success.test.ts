import { CircuitBreaker, type CircuitBreakerOptions } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { FleetBreaker, type FleetBreakerParts } from '../../src/fleet-breaker.js'
import { OPEN, type RedisScript } from '../../src/lua/scripts.js'
import type { RedisConnection } from '../../src/redis-connection.js'

// A rate window can open with a call that succeeded: one that was slow, or that made the number of calls large enough. Such an
// opening was not reported to the fleet, because only failures were expected to open a breaker.

/** A shared breaker, and the scripts that its node has sent. */
function createSharedBreaker(options: CircuitBreakerOptions) {
  const clock = fakeClock()
  const sent: RedisScript[] = []
  const redis = {
    isUp: true,
    run: async (script: RedisScript) => void sent.push(script),
  } as unknown as RedisConnection
  const ignore = () => {}
  const parts: FleetBreakerParts = {
    redis,
    node: 'n1',
    liveNodes: () => 1,
    countNodes: async () => 1,
    onSynced: ignore,
    onSettingsFound: async () => {},
    onOpenSince: ignore,
    onInvalidReply: ignore,
  }
  const breaker = new CircuitBreaker({ id: 'api', clock, ...options })
  breaker.coordinator = new FleetBreaker(breaker, { share: 'state', quorum: 0.5, minimumCalls: 5 }, parts)
  return { breaker, clock, sent }
}

describe('a shared breaker with a rate window', () => {
  it('reports an opening by slow calls that succeeded', async () => {
    const { breaker, clock, sent } = createSharedBreaker({
      windowType: 'rate',
      minimumCalls: 1,
      slowCallDuration: 100,
      slowCallRate: 0.5,
    })
    const permit = breaker.admit()
    await clock.advance(100)
    permit?.success()
    expect(breaker.state).toBe('open')
    expect(sent).toEqual([OPEN])
  })

  it('reports an opening by a success that makes the number of calls large enough', () => {
    const { breaker, sent } = createSharedBreaker({ windowType: 'rate', minimumCalls: 2, failureRate: 0.5 })
    breaker.admit()?.failure()
    expect(breaker.state).toBe('closed')
    breaker.admit()?.success()
    expect(breaker.state).toBe('open')
    expect(sent).toEqual([OPEN])
  })
})

import { CircuitBreaker } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { FleetBreaker, type FleetBreakerParts } from '../../src/fleet-breaker.js'
import { GRANT_PROBE, type RedisScript, SETTLE_PROBE } from '../../src/lua/scripts.js'
import type { RedisConnection } from '../../src/redis-connection.js'

// A call that is rejected while a permit is requested leaves the permit to the next call, for one second. An operation that was called
// less often than that never used a permit, so its shared breaker stayed open until an operator reset it.

const clock = fakeClock()

/** A breaker that was tripped and whose open duration has ended, on a Redis that grants every permit. */
async function createDueBreaker() {
  const sent: (readonly unknown[])[] = []
  let epoch = 1
  let state = 'closed'
  const view = (more: object = {}) =>
    JSON.stringify({
      id: 'api',
      node: 'n1',
      epoch,
      state,
      left: 0,
      openFor: 30_000,
      openings: 1,
      failures: 0,
      off: false,
      ...more,
    })
  const run = async (script: RedisScript, _keys: unknown, args: readonly unknown[]) => {
    sent.push([script, ...args])
    if (script === GRANT_PROBE) {
      state = 'half_open'
      return view({ token: `${++epoch}:1` })
    }
    if (args.includes('trip')) {
      epoch++
      state = 'open'
      return view({ left: 30_000 })
    }
    if (script === SETTLE_PROBE && args.includes('success')) {
      epoch++
      state = 'closed'
    }
    return view()
  }
  const ignore = () => {}
  const parts: FleetBreakerParts = {
    redis: { isUp: true, run } as unknown as RedisConnection,
    node: 'n1',
    liveNodes: () => 1,
    countNodes: async () => 1,
    onSynced: ignore,
    onSettingsFound: async () => {},
    onOpenSince: ignore,
    onInvalidReply: (problem) => expect.unreachable(problem),
  }
  const breaker = new CircuitBreaker({ id: 'api', timeoutDuration: '30s', clock })
  const link = new FleetBreaker(breaker, { share: 'state', quorum: 0.5, minimumCalls: 5 }, parts)
  breaker.coordinator = link
  breaker.trip()
  await clock.advance(31_000)
  return { breaker, link, sent }
}

describe('a shared breaker whose operation is called rarely', () => {
  it('probes with the third call after its open duration', async () => {
    const { breaker, link } = await createDueBreaker()
    /** Calls once and waits an hour. */
    const callEveryHour = async () => {
      const permit = breaker.admit()
      permit?.success()
      await clock.advance(3_600_000)
      return permit !== undefined
    }
    expect(await callEveryHour()).toBe(false)
    expect(await callEveryHour()).toBe(false)
    expect(await callEveryHour()).toBe(true)
    expect(breaker.state).toBe('closed')
    link.close()
  })

  it('returns a permit that waits for a call when its node leaves', async () => {
    const { breaker, link, sent } = await createDueBreaker()
    for (let calls = 0; calls < 2; calls++) {
      expect(breaker.admit()).toBeUndefined()
      await clock.advance(60_000)
    }
    sent.length = 0
    link.close()
    expect(sent).toEqual([[SETTLE_PROBE, 'n1', 'api', 4, '4:1', 'nothing', expect.anything(), 30_000, 1, 0]])
  })
})

import { describe, expect, it } from 'vitest'
import { FleetModel } from '../src/invariants/fleet-model.js'
import type { SimulatedNode } from '../src/process/simulated-node.js'
import { createSimulatedRedis } from '../src/substitutes/index.js'

const KEY = 'holdfast:{service:mail}:state'

/** A node with one shared breaker, and the data of Redis. */
function createFleet() {
  const redis = createSimulatedRedis()
  let now = 0
  const lease: { token: string; ends: number } | undefined = undefined
  const link = {
    epoch: 5,
    isFleetOpen: false,
    options: { share: 'state' },
    probes: { lease } as { lease: unknown },
  }
  const breaker = { id: 'service:mail', currentState: 'closed', coordinator: link }
  const runtime = {
    guard: (operation: string) => (operation === 'mail' ? { breaker } : {}),
    fleet: { connected: true },
    pools: { get: () => ({ on: () => {} }) },
  }
  const process = { name: 'n0.1', clock: { now: () => now } }
  const model = new FleetModel(
    { redis, redisNow: () => now, now: () => now },
    { faults: [], poolShare: 'none' },
  )
  model.onStarted(process as never, runtime as never)
  const nodes = [{ name: 'n0', process, runtime }] as unknown as SimulatedNode[]
  redis.execute(['HSET', KEY, 'epoch', 5, 'state', 'closed'], 0)
  return {
    redis,
    link,
    breaker,
    checkLeases: () => model.checkLeases(nodes),
    /** Checks every second. */
    checkFor(seconds: number) {
      for (let second = 0; second < seconds; second++) {
        now += 1000
        model.check(nodes)
      }
    },
  }
}

describe('the model of a fleet', () => {
  it('accepts a node that knows what Redis knows', () => {
    const { checkFor } = createFleet()
    expect(() => checkFor(100)).not.toThrow()
  })

  it('reports a node that does not know an opening', () => {
    const { redis, checkFor } = createFleet()
    checkFor(100)
    redis.execute(['HSET', KEY, 'epoch', 6, 'state', 'open'], 0)
    expect(() => checkFor(5)).not.toThrow()
    expect(() => checkFor(5)).toThrow('n0.1 does not know the state of a breaker in Redis')
  })

  it('reports an opening that Redis does not know', () => {
    const { breaker, checkFor } = createFleet()
    checkFor(100)
    breaker.currentState = 'open'
    expect(() => checkFor(10)).toThrow('n0.1 has opened a breaker and not reported it to Redis')
  })

  it('reports a node that counts on a permit for longer than Redis', () => {
    const { redis, link, checkLeases } = createFleet()
    redis.execute(['HSET', KEY, 'lease:5:1', 1000], 0)
    link.probes.lease = { token: '5:1', ends: 1000 }
    expect(checkLeases).not.toThrow()
    link.probes.lease = { token: '5:1', ends: 1040 }
    expect(checkLeases).toThrow('n0.1 counts on its permit 5:1 of service:mail for 1040 ms')
  })
})

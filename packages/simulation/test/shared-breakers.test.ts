import { describe, expect, it } from 'vitest'
import type { SimulatedNode } from '../src/process/simulated-node.js'
import { SharedBreakers } from '../src/small-fleet/shared-breakers.js'

/** Two nodes that know no ejected member, and a Redis with the states of breakers. */
function createFleet() {
  const states = new Map<string, string>()
  const time = { now: 0, silentMs: 0 }
  const execute = ([, key]: readonly string[]) => ({ reply: states.get(String(key)) ?? null })
  const model = new SharedBreakers({
    redis: { execute } as never,
    heartbeatMs: 3000,
    now: () => time.now,
    redisNow: () => time.now,
    silentMs: () => time.silentMs,
  })
  const runtime = {
    fleet: { connected: true },
    pools: { get: () => ({ breaker: () => ({ trip: () => {} }), status: () => 'available' }) },
  }
  const nodes = ['n0', 'n1'].map((name) => ({ name, runtime })) as unknown as SimulatedNode[]
  const check = () => model.check(nodes, nodes[1] as SimulatedNode, false)
  return { states, time, model, runtime, check }
}

describe('the breakers of a small fleet', () => {
  it('requires that a connected node knows an ejected member in time', () => {
    const { states, time, model, runtime, check } = createFleet()
    model.eject(runtime as never)
    check()
    states.set('holdfast:{pool:members:m0}:state', 'open')
    check()
    time.now = 6000
    check()
    time.now = 6001
    expect(check).toThrow('converges: n0 does not know that the fleet has ejected m0')
    runtime.fleet.connected = false
    check()
  })

  it('requires that Redis knows each ejected member at the end', () => {
    const { states, model, runtime } = createFleet()
    expect(() => model.checkEnd()).not.toThrow()
    model.eject(runtime as never)
    expect(() => model.checkEnd()).toThrow('converges: Redis does not know at the end that m0 was ejected')
    states.set('holdfast:{pool:members:m0}:state', 'open')
    expect(() => model.checkEnd()).not.toThrow()
  })

  it('requires that one node alone does not open a breaker, unless the other one has left', () => {
    const { states, time, model, check } = createFleet()
    states.set('holdfast:{service:quorum}:state', 'open')
    expect(check).toThrow('openings: the fleet has opened service:quorum, and n1 has seen no failure')
    expect(model.wasAlone).toBe(false)
    time.silentMs = 9000
    check()
    expect(model.wasAlone).toBe(true)
  })
})

import { describe, expect, it } from 'vitest'
import { checkFleetAtRest } from '../src/invariants/fleet-rest-model.js'
import type { SimulatedNode } from '../src/process/simulated-node.js'

/** A node whose fleet is at rest. */
function createNode() {
  const link = {
    breaker: { id: 'service:mail' },
    pendingCommand: undefined as string | undefined,
    isReading: false,
    mismatchedNodes: new Set<string>(),
    probes: { isRequesting: false, lease: undefined, endingToken: undefined },
    counts: { timer: undefined },
  }
  const coordinator = {
    breakers: { syncing: 0, syncQueue: [], values: () => [link] },
    redis: { isUp: true, reconnectTimer: undefined, rejection: undefined },
    membership: { liveNodes: 1, isRegistered: true },
    cooldowns: { unsent: new Map<string, unknown>() },
    eventStream: { pending: [], timer: undefined },
    lostAt: undefined,
  }
  const nodes = [{ name: 'n0', runtime: { fleet: { coordinator } } }] as unknown as SimulatedNode[]
  return { link, coordinator, nodes }
}

describe('a fleet at rest', () => {
  it('has nothing left', () => {
    expect(() => checkFleetAtRest(createNode().nodes)).not.toThrow()
  })

  it('has no command that was not sent', () => {
    const { link, nodes } = createNode()
    link.pendingCommand = 'trip'
    expect(() => checkFleetAtRest(nodes)).toThrow(
      'n0 has a command about service:mail that was not sent at rest',
    )
  })

  it('knows all nodes', () => {
    const { coordinator, nodes } = createNode()
    coordinator.membership.liveNodes = 2
    expect(() => checkFleetAtRest(nodes)).toThrow('n0 has live nodes at rest: 2, expected 1')
  })
})

import type { CircuitBreaker } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { FleetBreaker } from '../src/fleet-breaker.js'
import { missing, RealRedis, until } from './redis.js'
import { countEvents, fail, node, SHARE, succeed, type TestNode } from './setup.js'

/** A node expires after three intervals, which no stall of a busy machine reaches: fewer nodes need fewer votes. */
const HEARTBEAT_MS = 60_000

let server: RealRedis
let fleetCount = 0

/** Nodes of one fleet, with a breaker on each whose id no other test uses. */
async function fleet(
  size: number,
  share: Parameters<TestNode['add']>[1],
  options?: Parameters<TestNode['add']>[2],
): Promise<{ nodes: TestNode[]; breakers: CircuitBreaker[]; id: string }> {
  const id = `service:api${++fleetCount}`
  const nodes: TestNode[] = []
  const breakers: CircuitBreaker[] = []
  for (let i = 0; i < size; i++) {
    const one = await node(server.url, `n${fleetCount}-${i}`, { heartbeat: HEARTBEAT_MS })
    nodes.push(one)
    breakers.push(await one.add(id, share, options))
  }
  // Every node is registered and knows the number of nodes, so it need not wait for another interval to be certain of it.
  for (const { state } of nodes) {
    await until(async () => {
      await state['membership'].heartbeat()
      return state['membership'].liveNodes >= size
    })
    state['membership']['certainFrom'] = 0
  }
  return { nodes, breakers, id }
}

const states = (breakers: readonly CircuitBreaker[]) => breakers.map(({ state }) => state)
const all = (breakers: readonly CircuitBreaker[], state: string) =>
  breakers.every((one) => one.state === state)

describe.skipIf(missing !== undefined)('a breaker that a fleet shares', () => {
  beforeAll(async () => {
    server = await RealRedis.start()
  })
  afterAll(() => server?.kill())

  it('opens on all nodes when it opens on one, with `state`', async () => {
    const { breakers } = await fleet(3, { share: 'state' })
    fail(breakers[0] as CircuitBreaker, 2)
    await until(() => all(breakers, 'open'))
    const [first, second] = breakers.map(({ nextTestTime }) => nextTestTime as number) as [number, number]
    expect(Math.abs(first - second)).toBeLessThan(30_000)
  })

  it('opens by the sum of the failures of all nodes, with `counts`', async () => {
    const { breakers } = await fleet(3, { share: 'counts' }, { failureThreshold: 3 })
    for (const breaker of breakers) {
      succeed(breaker, 10)
      fail(breaker, 1)
    }
    await until(() => all(breakers, 'open'))
  })

  it('opens by the failure rate of all nodes together, with `counts`', async () => {
    const { breakers } = await fleet(2, { share: 'counts' }, { failureRate: 0.5, minimumCalls: 8 })
    for (const breaker of breakers) {
      succeed(breaker, 1)
      fail(breaker, 3)
    }
    await until(() => all(breakers, 'open'))
  })

  it('opens only on the node where it fails while most nodes see it healthy, with `quorum`', async () => {
    const { breakers, nodes, id } = await fleet(5, { share: 'quorum' })
    const [bad, ...good] = breakers as [CircuitBreaker, ...CircuitBreaker[]]
    const markers = await Promise.all(nodes.map((one) => one.add(`${id}-marker`, { share: 'state' })))
    const link = nodes[0]?.state['breakers'].get(bad.id) as FleetBreaker
    const endRound = vi.spyOn(link['quorumVote'], 'endRound')
    for (const breaker of good) succeed(breaker, 10)
    for (let round = 0; round < 3; round++) {
      fail(bad, 2)
      expect(bad.state).toBe('open')
      await until(() => endRound.mock.calls.length > round)
      // Commands and messages keep their order, so a decision of this round has arrived when the marker has.
      markers[0]?.trip()
      await until(() => all(markers, 'open'))
      markers[0]?.reset()
      await until(() => all(markers, 'closed'))
      expect((await nodes[0]?.state.nodes())?.length).toBe(5)
      expect(states(good)).toEqual(['closed', 'closed', 'closed', 'closed'])
      bad['applyRemoteState']({ state: 'closed', left: 0, openFor: 0, openings: 0, failures: 0, off: false })
    }
  })

  it('opens on all nodes once most nodes that call it see it failing, with `quorum`', async () => {
    const { breakers } = await fleet(5, { share: 'quorum' })
    const [a, b, c, d, idle] = breakers as [
      CircuitBreaker,
      CircuitBreaker,
      CircuitBreaker,
      CircuitBreaker,
      CircuitBreaker,
    ]
    succeed(d, 10)
    fail(a, 2)
    fail(b, 2)
    fail(c, 2)
    await until(() => all(breakers, 'open'))
    expect(idle.failureCount).toBeGreaterThan(0)
  })

  it('does not count the vote of a node without enough calls, with `quorum`', async () => {
    const { breakers } = await fleet(4, { share: 'quorum' })
    const [a, b, c] = breakers as [CircuitBreaker, CircuitBreaker, CircuitBreaker]
    succeed(c, 4)
    fail(a, 2)
    fail(b, 2)
    await until(() => all(breakers, 'open'))
  })

  it('opens before the round is over if all nodes have answered, with `quorum`', async () => {
    // On a stopped clock no round ends.
    const { breakers } = await fleet(4, { share: 'quorum' }, { clock: fakeClock() })
    const [a, b] = breakers as [CircuitBreaker, CircuitBreaker]
    fail(a, 2)
    fail(b, 2)
    await until(() => all(breakers, 'open'))
  })

  it('admits no more probes on all nodes together than on one node', async () => {
    const { breakers } = await fleet(
      4,
      { share: 'state' },
      { timeoutDuration: 50, halfOpenMax: 2, probeLease: 600_000 },
    )
    fail(breakers[0] as CircuitBreaker, 2)
    await until(() => all(breakers, 'open'))
    const permits: ReturnType<CircuitBreaker['admit']>[] = []
    const admitOnAllNodes = () => {
      for (const breaker of breakers) {
        const permit = breaker.admit()
        if (permit !== undefined) permits.push(permit)
      }
    }
    await until(() => {
      admitOnAllNodes()
      return permits.length >= 2
    })
    for (let i = 0; i < 20; i++) {
      admitOnAllNodes()
      await until(() => true)
    }
    expect(permits).toHaveLength(2)
    permits[0]?.success()
    await until(() => all(breakers, 'closed'))
  })

  it('closes after successful probes on several nodes, and opens again after a failed one', async () => {
    const { breakers } = await fleet(3, { share: 'state' }, { timeoutDuration: 30, successThreshold: 2 })
    const probe = async (outcome: 'success' | 'failure') => {
      let permit: ReturnType<CircuitBreaker['admit']>
      await until(() => {
        for (const breaker of breakers) permit ??= breaker.admit()
        return permit
      })
      permit?.[outcome]()
    }
    fail(breakers[0] as CircuitBreaker, 2)
    await until(() => all(breakers, 'open'))
    await probe('success')
    await probe('failure')
    await until(() => all(breakers, 'open'))
    await probe('success')
    await probe('success')
    await until(() => all(breakers, 'closed'))
  })

  it('admits another probe after the lease of one that never ends', async () => {
    const { breakers } = await fleet(2, { share: 'state' }, { timeoutDuration: 20, probeLease: 100 })
    fail(breakers[0] as CircuitBreaker, 2)
    await until(() => all(breakers, 'open'))
    let first: ReturnType<CircuitBreaker['admit']>
    await until(() => (first = (breakers[0] as CircuitBreaker).admit()))
    let second: ReturnType<CircuitBreaker['admit']>
    await until(() => (second = (breakers[1] as CircuitBreaker).admit()))
    second?.success()
    await until(() => all(breakers, 'closed'))
    fail(breakers[1] as CircuitBreaker, 2)
    await until(() => all(breakers, 'open'))
    first?.success()
    expect(states(breakers)).toEqual(['open', 'open'])
  })

  it('is tripped, reset, disabled and enabled on all nodes by a command on one', async () => {
    const { breakers } = await fleet(3, { share: 'quorum' })
    const [one] = breakers as [CircuitBreaker]
    one.trip()
    await until(() => all(breakers, 'open'))
    breakers[1]?.reset()
    await until(() => all(breakers, 'closed'))
    one.disable()
    await until(() => breakers.every(({ disabled }) => disabled))
    breakers[2]?.enable()
    await until(() => breakers.every(({ disabled }) => !disabled))
  })

  it('stays open on all nodes for the duration for which one node tripped it', async () => {
    const { breakers, id } = await fleet(2, SHARE)
    const [one, other] = breakers as [CircuitBreaker, CircuitBreaker]
    one.trip({ duration: '1h' })
    await until(() => all(breakers, 'open'))
    const left = (breaker: CircuitBreaker) => (breaker.nextTestTime ?? 0) - breaker.settings.clock.wall()
    expect(left(other)).toBeGreaterThan(3_500_000)
    expect(other.tripDuration).toBe(3_600_000)
    const late = await (await node(server.url, `late${fleetCount}`)).add(id, SHARE)
    await until(() => late.state === 'open')
    expect(left(late)).toBeGreaterThan(3_500_000)
    other.trip()
    await until(() => one.tripDuration === undefined)
    expect(left(one)).toBeLessThan(3_500_000)
  })

  it('has the state of the fleet on a node that starts later', async () => {
    const { breakers, id } = await fleet(1, { share: 'quorum' })
    breakers[0]?.trip()
    const late = await node(server.url, `late${fleetCount}`)
    await until(async () => (await late.add(id, { share: 'quorum' })).state === 'open')
  })

  it('ignores a message with an older epoch', async () => {
    const { breakers, nodes, id } = await fleet(2, { share: 'state' })
    const [a, b] = breakers as [CircuitBreaker, CircuitBreaker]
    a.trip()
    await until(() => b.state === 'open')
    a.reset()
    await until(() => b.state === 'closed')
    const old = {
      id,
      node: 'ghost',
      epoch: 1,
      state: 'open',
      left: 9999,
      openFor: 9999,
      openings: 1,
      failures: 1,
      off: false,
    }
    await nodes[0]?.state['redis'].send('PUBLISH', 'holdfast:news', JSON.stringify(old))
    a.disable()
    await until(() => b.disabled)
    expect(b.state).toBe('closed')
  })

  it('is independent in another database of the same server', async () => {
    const other = server.url.replace(/0$/, '3')
    const [a, b, c, d] = await Promise.all([
      node(server.url, 'a'),
      node(server.url, 'b'),
      node(other, 'c'),
      node(other, 'd'),
    ])
    const apis = await Promise.all([a, b, c, d].map((one) => (one as TestNode).add('service:api')))
    const [first, second] = await Promise.all([c, d].map((one) => (one as TestNode).add('service:later')))
    apis[0]?.trip()
    await until(() => apis[1]?.state === 'open')
    // Messages arrive in order, so messages about the other breaker have arrived by then.
    first?.trip()
    await until(() => second?.state === 'open')
    expect(states(apis)).toEqual(['open', 'open', 'closed', 'closed'])
  })

  it('is not shared while the settings of two nodes differ, and both emit an alert', async () => {
    const { breakers, nodes, id } = await fleet(1, { share: 'state' })
    const other = await node(server.url, `other${fleetCount}`)
    const second = await other.add(id, { share: 'state' }, { timeoutDuration: 7, failureThreshold: 3 })
    for (const one of [nodes[0] as TestNode, other]) {
      await until(() => countEvents(one, 'alert') > 0)
      const { context } = one.events.find(({ eventType }) => eventType === 'alert') as { context: unknown }
      expect(context).toMatchObject({ id, fields: ['failureThreshold', 'timeoutDuration'] })
    }
    breakers[0]?.trip()
    await other.state['membership'].heartbeat()
    expect(second.state).toBe('closed')
    // With the same settings it is shared again.
    await until(async () => (await other.add(id, SHARE)).state === 'open' || (breakers[0]?.trip(), false))
  })
})

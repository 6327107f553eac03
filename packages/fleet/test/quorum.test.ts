import type { CircuitBreaker } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import type { FleetBreaker } from '../src/fleet-breaker.js'
import { FaultProxy, missing, RealRedis, until } from './redis.js'
import { afterwards, countEvents, fail, node, succeed, type TestNode } from './setup.js'

const ID = 'service:api'
const KEYS = { state: `holdfast:{${ID}}:state`, round: `holdfast:{${ID}}:round` }

interface Fleet {
  server: RealRedis
  proxy: FaultProxy
  nodes: TestNode[]
  breakers: CircuitBreaker[]
}

/** Nodes that have sent one heartbeat and send no other during the test. All except the first connect through a proxy. */
async function fleet(size: number): Promise<Fleet> {
  const server = await RealRedis.start()
  afterwards(() => server.kill())
  const proxy = await FaultProxy.start(server.port)
  afterwards(() => proxy.close())
  const nodes: TestNode[] = []
  for (let i = 0; i < size; i++)
    nodes.push(await node(i === 0 ? server.url : proxy.url, `n${i}`, { heartbeat: 60_000 }))
  // On a stopped clock a round ends only by `endRound`.
  const own = { clock: fakeClock() }
  const breakers = await Promise.all(nodes.map((one) => one.add(ID, { share: 'quorum' }, own)))
  return { server, proxy, nodes, breakers }
}

const send = ({ nodes }: Fleet, ...command: [string, ...string[]]) =>
  (nodes[0] as TestNode).state['redis'].send(...command)

/** Lets some nodes see the breaker failing and all others see it healthy; returns the state of the fleet after the round. */
async function voteAndReadState(all: Fleet, failing: number): Promise<string> {
  const { nodes, breakers } = all
  for (const [i, breaker] of breakers.entries()) if (i >= failing) succeed(breaker, 10)
  for (const breaker of breakers.slice(0, failing)) fail(breaker, 2)
  const readState = async () => ((await send(all, 'HGET', KEYS.state, 'state')) as string | null) ?? 'closed'
  const haveAllAnswered = async () => {
    const fields = (await send(all, 'HKEYS', KEYS.round)) as string[]
    return fields.filter((field) => field.startsWith('n:')).length === nodes.length
  }
  await until(async () => (await haveAllAnswered()) || (await readState()) === 'open')
  const [first] = breakers as [CircuitBreaker]
  ;(first.coordinator as FleetBreaker)['quorumVote'].endRound()
  return readState()
}

describe.skipIf(missing !== undefined)('a quorum vote', () => {
  it.each([
    [2, 1, 'closed'],
    [3, 1, 'closed'],
    [5, 1, 'closed'],
    [5, 2, 'closed'],
    [2, 2, 'open'],
    [3, 2, 'open'],
    [5, 3, 'open'],
  ])('of %i new nodes, of which %i see the breaker failing, leaves it %s', async (size, failing, state) => {
    const all = await fleet(size)
    expect(await voteAndReadState(all, failing)).toBe(state)
    const others = all.breakers.slice(failing)
    if (state === 'open') await until(() => others.every((one) => one.state === 'open'))
    expect(others.map((one) => one.state)).toEqual(others.map(() => state))
  })

  it('is not decided by one node after Redis has lost the other nodes', async () => {
    const all = await fleet(3)
    await send(all, 'FLUSHALL')
    expect(await voteAndReadState(all, 1)).toBe('closed')
    for (const breaker of all.breakers) breaker.reset()
    // A reset that reached a node later would close the breaker that is to fail below.
    await until(async () => {
      const epoch = Number(await send(all, 'HGET', KEYS.state, 'epoch'))
      const links = all.breakers.map((breaker) => breaker.coordinator as FleetBreaker)
      return links.every((link) => link['pendingCommand'] === undefined && link.epoch === epoch)
    })
    await send(all, 'FLUSHALL')
    // This node is the first to send a heartbeat again.
    await all.nodes[0]?.state['membership'].heartbeat()
    expect(await voteAndReadState(all, 1)).toBe('closed')
  })

  it('is not decided by one node after Redis has restarted and the others have not reconnected', async () => {
    const all = await fleet(3)
    const [first] = all.nodes as [TestNode]
    const [breaker] = all.breakers as [CircuitBreaker]
    const link = breaker.coordinator as FleetBreaker
    all.proxy.cut()
    await all.server.kill()
    await until(() => !first.state.status().up)
    await all.server.up()
    await until(() => countEvents(first, 'shared_state_restored') === 1)
    await first.state['membership'].heartbeat()
    fail(breaker, 2)
    await until(async () => (await send(all, 'EXISTS', KEYS.round)) === 1 || link.isFleetOpen)
    link['quorumVote'].endRound()
    expect(await send(all, 'HGET', KEYS.state, 'state')).not.toBe('open')
  })

  it('is decided by one node once it is certain that there are no others', async () => {
    const server = await RealRedis.start()
    afterwards(() => server.kill())
    const alone = await node(server.url, 'alone', { heartbeat: 50 })
    const breaker = await alone.add(ID, { share: 'quorum' })
    fail(breaker, 2)
    await until(() => (breaker.coordinator as FleetBreaker).isFleetOpen)
    const late = await node(server.url, 'late')
    expect((await late.add(ID, { share: 'quorum' })).state).toBe('open')
  })
})

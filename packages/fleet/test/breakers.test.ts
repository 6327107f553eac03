import type { CircuitBreaker } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { missing, RealRedis, until } from './redis.js'
import { fail, node, SHARE, succeed, type TestNode, told } from './setup.js'

let server: RealRedis
let made = 0

/** Nodes of one fleet, and a breaker on each under a name that no other test has. */
async function fleet(
  size: number,
  share: Parameters<TestNode['add']>[1],
  options?: Parameters<TestNode['add']>[2],
): Promise<{ nodes: TestNode[]; breakers: CircuitBreaker[]; id: string }> {
  const id = `service:api${++made}`
  const nodes: TestNode[] = []
  const breakers: CircuitBreaker[] = []
  for (let i = 0; i < size; i++) {
    const one = await node(server.url, `n${made}-${i}`, { heartbeat: 100 })
    nodes.push(one)
    breakers.push(await one.add(id, share, options))
  }
  // Every node has counted all of them.
  await until(() => nodes.every(({ state }) => state['membership'].liveNodes >= size))
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

  it('opens everywhere when it opens anywhere, with `state`', async () => {
    const { breakers } = await fleet(3, { share: 'state' })
    fail(breakers[0] as CircuitBreaker, 2)
    await until(() => all(breakers, 'open'))
    const [first, second] = breakers.map(({ nextTestTime }) => nextTestTime as number) as [number, number]
    expect(Math.abs(first - second)).toBeLessThan(30_000)
  })

  it('adds the failures of all nodes up, with `counts`', async () => {
    const { breakers } = await fleet(3, { share: 'counts' }, { failureThreshold: 3 })
    for (const breaker of breakers) {
      succeed(breaker, 10)
      fail(breaker, 1)
    }
    await until(() => all(breakers, 'open'))
  })

  it('judges the rate of all nodes together, with `counts`', async () => {
    const { breakers } = await fleet(2, { share: 'counts' }, { failureRate: 0.5, minimumCalls: 8 })
    for (const breaker of breakers) {
      succeed(breaker, 1)
      fail(breaker, 3)
    }
    await until(() => all(breakers, 'open'))
  })

  it('opens only where it fails while most nodes see nothing wrong, with `quorum`', async () => {
    const { breakers, nodes } = await fleet(5, { share: 'quorum' })
    const [bad, ...good] = breakers as [CircuitBreaker, ...CircuitBreaker[]]
    for (const breaker of good) succeed(breaker, 10)
    for (let round = 0; round < 3; round++) {
      fail(bad, 2)
      expect(bad.state).toBe('open')
      // Two rounds of votes: whatever they decide is decided by then.
      const link = nodes[0]?.state['breakers'].get(bad.id)
      const before = nodes[0]?.state.status().commands as number
      await until(() => (nodes[0]?.state.status().commands as number) >= before + 8 && link !== undefined)
      await until(async () => (await nodes[0]?.state.nodes())?.length === 5)
      expect(states(good)).toEqual(['closed', 'closed', 'closed', 'closed'])
      bad['applyRemoteState']({ state: 'closed', left: 0, openFor: 0, openings: 0, failures: 0, off: false })
    }
  })

  it('opens everywhere once most of those that call it see it failing, with `quorum`', async () => {
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

  it('takes a node without enough calls for no voter', async () => {
    const { breakers } = await fleet(4, { share: 'quorum' })
    const [a, b, c] = breakers as [CircuitBreaker, CircuitBreaker, CircuitBreaker]
    succeed(c, 4)
    fail(a, 2)
    fail(b, 2)
    await until(() => all(breakers, 'open'))
  })

  it('opens as soon as all have answered, and waits for nobody who has', async () => {
    // On a clock that stands still no round is ever over.
    const { breakers } = await fleet(4, { share: 'quorum' }, { clock: fakeClock() })
    const [a, b] = breakers as [CircuitBreaker, CircuitBreaker]
    fail(a, 2)
    fail(b, 2)
    await until(() => all(breakers, 'open'))
  })

  it('lets no more tests through than one node would, over all nodes', async () => {
    const { breakers } = await fleet(
      4,
      { share: 'state' },
      { timeoutDuration: 50, halfOpenMax: 2, probeLease: 30_000 },
    )
    fail(breakers[0] as CircuitBreaker, 2)
    await until(() => all(breakers, 'open'))
    const permits: ReturnType<CircuitBreaker['admit']>[] = []
    const knock = () => {
      for (const breaker of breakers) {
        const permit = breaker.admit()
        if (permit !== undefined) permits.push(permit)
      }
    }
    await until(() => {
      knock()
      return permits.length >= 2
    })
    for (let i = 0; i < 20; i++) {
      knock()
      await until(() => true)
    }
    expect(permits).toHaveLength(2)
    permits[0]?.success()
    await until(() => all(breakers, 'closed'))
  })

  it('counts successful tests of all nodes, and goes back to open with one that fails', async () => {
    const { breakers } = await fleet(3, { share: 'state' }, { timeoutDuration: 30, successThreshold: 2 })
    const test = async (end: 'success' | 'failure') => {
      let permit: ReturnType<CircuitBreaker['admit']>
      await until(() => {
        for (const breaker of breakers) permit ??= breaker.admit()
        return permit
      })
      permit?.[end]()
    }
    fail(breakers[0] as CircuitBreaker, 2)
    await until(() => all(breakers, 'open'))
    await test('success')
    await test('failure')
    await until(() => all(breakers, 'open'))
    await test('success')
    await test('success')
    await until(() => all(breakers, 'closed'))
  })

  it('frees the place of a test that never ends', async () => {
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

  it('is tripped, reset, disabled and enabled for all by one', async () => {
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

  it('stands where the fleet has it when a node starts anew', async () => {
    const { breakers, id } = await fleet(1, { share: 'quorum' })
    breakers[0]?.trip()
    const late = await node(server.url, `late${made}`)
    await until(async () => (await late.add(id, { share: 'quorum' })).state === 'open')
  })

  it('takes no notice of what an older epoch says', async () => {
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

  it('is another one in another database of the same server', async () => {
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
    // What is said later is heard later, so whatever was said of the other is heard by then.
    first?.trip()
    await until(() => second?.state === 'open')
    expect(states(apis)).toEqual(['open', 'open', 'closed', 'closed'])
  })

  it('is left to each node where their settings differ, and both say so', async () => {
    const { breakers, nodes, id } = await fleet(1, { share: 'state' })
    const other = await node(server.url, `other${made}`)
    const second = await other.add(id, { share: 'state' }, { timeoutDuration: 7, failureThreshold: 3 })
    for (const one of [nodes[0] as TestNode, other]) {
      await until(() => told(one, 'alert') > 0)
      const { context } = one.events.find(({ eventType }) => eventType === 'alert') as { context: unknown }
      expect(context).toMatchObject({ id, fields: ['failureThreshold', 'timeoutDuration'] })
    }
    breakers[0]?.trip()
    await other.state['membership'].heartbeat()
    expect(second.state).toBe('closed')
    // The same settings bring them together again.
    await until(async () => (await other.add(id, SHARE)).state === 'open' || (breakers[0]?.trip(), false))
  })
})

import { CircuitBreaker, guard, Pool } from 'holdfast'
import { describe, expect, it } from 'vitest'
import type { FleetBreaker } from '../src/fleet-breaker.js'
import { FaultProxy, missing, RealRedis, until } from './redis.js'
import { afterwards, countEvents, DRIVER_WITH_TIMEOUTS, fail, node, SHARE, succeed } from './setup.js'

const WITH_TIMEOUTS = { driver: DRIVER_WITH_TIMEOUTS }

const redis = async () => {
  const server = await RealRedis.start()
  afterwards(() => server.kill())
  return server
}

describe.skipIf(missing !== undefined)('a node', () => {
  it('starts without Redis, and synchronizes its breakers when Redis is available', async () => {
    const server = await redis()
    await server.kill()
    const a = await node(server.url, 'a', WITH_TIMEOUTS)
    expect(countEvents(a, 'shared_state_lost')).toBe(1)
    const breaker = await a.add('service:api')
    fail(breaker, 2)
    expect(breaker.state).toBe('open')
    await server.up()
    await until(() => countEvents(a, 'shared_state_restored') > 0)
    const b = await node(server.url, 'b')
    const other = await b.add('service:api')
    await until(() => other.state === 'open')
  })

  it('decides alone while Redis is down, and restores its state in a Redis that comes back empty', async () => {
    const server = await redis()
    const a = await node(server.url, 'a')
    const breaker = await a.add('service:api')
    fail(breaker, 2)
    await server.kill()
    await until(() => countEvents(a, 'shared_state_lost') === 1)
    expect(breaker.state).toBe('open')
    expect(a.state.status()).toMatchObject({ up: false, losses: 1, nodes: 1, lostSince: expect.any(Date) })
    expect((await a.state.nodes()).map(({ id }) => id)).toEqual(['a'])
    // After a reconnect the node must not assume that it is the only one.
    expect(a.state['membership'].liveNodes).toBe(2)
    breaker.reset()
    succeed(breaker, 3)
    fail(breaker, 2)
    expect(breaker.state).toBe('open')
    await server.up()
    await until(() => countEvents(a, 'shared_state_restored') === 1)
    const b = await node(server.url, 'b')
    const other = await b.add('service:api')
    await until(() => other.state === 'open')
  })

  it('sends cooldowns of members that began while Redis was down', async () => {
    const server = await redis()
    const [a, b] = [await node(server.url, 'a'), await node(server.url, 'b')]
    const pools = [a, b].map(() => new Pool({ id: 'p', members: [{ id: 'm', value: 1 }] }))
    const [mine, other] = pools as [Pool, Pool]
    for (const [i, one] of [a, b].entries())
      await one.state.cooldowns.setPools([pools[i] as Pool], () => true)
    await server.kill()
    await until(() => !a.state.status().up)
    const limited = Object.assign(new Error('slow down'), { status: 429, headers: { 'retry-after': '60' } })
    await guard({ pool: mine, retry: false })
      .run(() => Promise.reject(limited))
      .catch(() => {})
    expect(mine.status('m')).toBe('resting')
    await server.up()
    await until(() => other.status('m') === 'resting')
    expect(other['cooldownRemaining']('m')).toBeGreaterThan(30_000)
  })

  it('knows a member that another node ejected while this node was not connected', async () => {
    const server = await redis()
    const proxy = await FaultProxy.start(server.port)
    afterwards(() => proxy.close())
    const a = await node(server.url, 'a')
    const other = new CircuitBreaker({ id: 'pool:p:m', failureThreshold: 2, timeoutDuration: 600_000 })
    const found = { breaker: other, options: SHARE, calls: 0 }
    const b = await node(proxy.url, 'b', { findBreaker: () => found })
    await b.state.ejected.setPools(['p'])
    proxy.cut()
    await until(() => !b.state.status().up)
    const mine = await a.add(other.id)
    mine.trip()
    await until(async () => (await a.state['redis'].send('ZCARD', 'holdfast:{pool:p}:open')) === 1)
    expect(b.state.attachedIds()).toEqual([])
    proxy.restore()
    await until(() => other.state === 'open')
  })

  it('reports the loss of a paused Redis, and decides alone meanwhile', async () => {
    const server = await redis()
    const a = await node(server.url, 'a', WITH_TIMEOUTS)
    const breaker = await a.add('service:api', {}, { timeoutDuration: 1 })
    server.signal('SIGSTOP')
    fail(breaker, 2)
    await until(() => !a.state.status().up)
    expect(countEvents(a, 'shared_state_lost')).toBeGreaterThan(0)
    await until(() => breaker.admit() !== undefined)
    expect(breaker.state).toBe('half_open')
    server.signal('SIGCONT')
    await until(() => a.state.status().up)
    expect(countEvents(a, 'shared_state_restored')).toBeGreaterThan(0)
  })

  it('restores its state in a Redis whose data was deleted', async () => {
    const server = await redis()
    const a = await node(server.url, 'a')
    const breaker = await a.add('service:api')
    fail(breaker, 2)
    await until(async () => (await a.state.nodes())[0]?.opinions['service:api'] === 'open')
    const admin = await node(server.url, 'admin')
    await admin.state['redis'].send('FLUSHALL')
    await until(async () => (await a.state.nodes()).some(({ id }) => id === 'a'))
    await until(async () => {
      const c = await node(server.url, 'c')
      return (await c.add('service:api')).state === 'open'
    })
    expect(countEvents(a, 'shared_state_lost')).toBe(0)
  })

  it('learns a state that another node restores after this node has started with an empty Redis', async () => {
    const server = await redis()
    // Without heartbeats this node restores its states when the test synchronizes them, not before.
    const a = await node(server.url, 'a', { heartbeat: 600_000 })
    const known = [await a.add('service:open'), await a.add('service:closed')] as const
    const [openLink, closedLink] = known.map(({ coordinator }) => coordinator as FleetBreaker) as [
      FleetBreaker,
      FleetBreaker,
    ]
    known[0].trip()
    known[1].trip()
    known[1].reset()
    await until(() => openLink.isFleetOpen && closedLink.epoch > 0 && !closedLink.isFleetOpen)
    await a.state['redis'].send('FLUSHALL')
    const b = await node(server.url, 'b')
    const [open, closed] = [await b.add('service:open'), await b.add('service:closed')]
    expect([open.state, closed.state]).toEqual(['closed', 'closed'])
    await openLink.sync()
    await closedLink.sync()
    await until(() => open.state === 'open')
    await until(() => (closed.coordinator as FleetBreaker).epoch === closedLink.epoch)
    // The first opening of the new node applies to the fleet.
    fail(closed, 2)
    await until(() => known[1].state === 'open')
    expect(closed.state).toBe('open')
  })

  it('gets no probe permit in an epoch whose permits a Redis without data has forgotten', async () => {
    const server = await redis()
    const nodes = [await node(server.url, 'a'), await node(server.url, 'b')]
    const links: FleetBreaker[] = []
    for (const one of nodes) {
      const breaker = await one.add('service:api', {}, { timeoutDuration: 1 })
      links.push(breaker.coordinator as FleetBreaker)
    }
    const [a, b] = links as [FleetBreaker, FleetBreaker]
    const acquireProbe = async (link: FleetBreaker) => {
      await until(() => {
        link['probes']['requestPermit']()
        return link['probes']['lease']
      })
      return Number(link['probes']['lease']?.token.split(':')[0])
    }
    a.breaker.trip()
    await until(() => a.isFleetOpen && b.isFleetOpen)
    // The other node does not know this epoch when it synchronizes.
    const first = await acquireProbe(b)
    await nodes[0]?.state['redis'].send('FLUSHALL')
    await a.sync()
    expect(await acquireProbe(a)).toBeGreaterThan(first)
  })

  it('reconnects after its connections were cut, and after packets were lost', async () => {
    const server = await redis()
    const proxy = await FaultProxy.start(server.port)
    afterwards(() => proxy.close())
    const a = await node(proxy.url, 'a', WITH_TIMEOUTS)
    const b = await node(server.url, 'b')
    const mine = await a.add('service:api')
    const other = await b.add('service:api')
    for (const fault of ['cut', 'swallow'] as const) {
      proxy[fault]()
      await until(() => !a.state.status().up)
      other.trip()
      proxy.restore()
      await until(() => a.state.status().up)
      await until(() => mine.state === 'open')
      mine.reset()
      await until(() => other.state === 'closed')
    }
  })

  it('reconnects after the connection ended several times while it subscribed', async () => {
    const server = await redis()
    const proxy = await FaultProxy.start(server.port)
    afterwards(() => proxy.close())
    const a = await node(proxy.url, 'a')
    let cut = 0
    proxy.poison = 'subscribe'
    proxy.onPoison = () => cut++
    proxy.cut()
    proxy.restore()
    // An unhandled error would end the process, and fails the test here.
    await until(() => cut >= 3)
    expect(a.state.status().up).toBe(false)
    proxy.poison = undefined
    await until(() => a.state.status().up)
  })

  it('never reports the password of Redis in events and errors', async () => {
    const a = await node('redis://:hunter2@127.0.0.1:1/0', 'a', WITH_TIMEOUTS)
    expect(JSON.stringify(a.events)).not.toContain('hunter2')
    await expect(node('http://:hunter2@127.0.0.1:1', 'b')).rejects.toThrow(/unknown scheme 'http:'/)
    await expect(node('http://:hunter2@127.0.0.1:1', 'b')).rejects.not.toThrow(/hunter2/)
  })
})

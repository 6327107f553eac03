import { guard, Pool } from 'holdfast'
import { describe, expect, it } from 'vitest'
import type { FleetBreaker } from '../src/fleet-breaker.js'
import { FaultProxy, missing, RealRedis, until } from './redis.js'
import { afterwards, fail, node, succeed, told } from './setup.js'

const redis = async () => {
  const server = await RealRedis.start()
  afterwards(() => server.kill())
  return server
}

describe.skipIf(missing !== undefined)('a node whose Redis', () => {
  it('is not there begins alone, and comes together with the others when it is', async () => {
    const server = await redis()
    await server.kill()
    const a = await node(server.url, 'a')
    expect(told(a, 'shared_state_lost')).toBe(1)
    const breaker = await a.add('service:api')
    fail(breaker, 2)
    expect(breaker.state).toBe('open')
    await server.up()
    await until(() => told(a, 'shared_state_restored') === 1)
    const b = await node(server.url, 'b')
    const other = await b.add('service:api')
    await until(() => other.state === 'open')
  })

  it('is killed and comes back empty goes on, and brings back what it knows', async () => {
    const server = await redis()
    const a = await node(server.url, 'a')
    const breaker = await a.add('service:api')
    fail(breaker, 2)
    await server.kill()
    await until(() => told(a, 'shared_state_lost') === 1)
    expect(breaker.state).toBe('open')
    expect(a.state.status()).toMatchObject({ up: false, losses: 1, nodes: 1, lostSince: expect.any(Date) })
    expect((await a.state.nodes()).map(({ id }) => id)).toEqual(['a'])
    // When it comes back it must not take itself for the only one before it has asked.
    expect(a.state['membership'].liveNodes).toBe(2)
    breaker.reset()
    succeed(breaker, 3)
    fail(breaker, 2)
    expect(breaker.state).toBe('open')
    await server.up()
    await until(() => told(a, 'shared_state_restored') === 1)
    const b = await node(server.url, 'b')
    const other = await b.add('service:api')
    await until(() => other.state === 'open')
  })

  it('was away tells of the rests of members that began meanwhile', async () => {
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

  it('is paused is told of the loss, and decides alone meanwhile', async () => {
    const server = await redis()
    const a = await node(server.url, 'a')
    const breaker = await a.add('service:api', {}, { timeoutDuration: 1 })
    server.signal('SIGSTOP')
    fail(breaker, 2)
    await until(() => told(a, 'shared_state_lost') === 1)
    await until(() => breaker.admit() !== undefined)
    expect(breaker.state).toBe('half_open')
    server.signal('SIGCONT')
    await until(() => told(a, 'shared_state_restored') === 1)
  })

  it('forgets everything is told again by those who know', async () => {
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
    expect(told(a, 'shared_state_lost')).toBe(0)
  })

  it('forgets that it gave leave for tests never gives leave in that epoch again', async () => {
    const server = await redis()
    const nodes = [await node(server.url, 'a'), await node(server.url, 'b')]
    const links: FleetBreaker[] = []
    for (const one of nodes) {
      const breaker = await one.add('service:api', {}, { timeoutDuration: 1 })
      links.push(breaker.coordinator as FleetBreaker)
    }
    const [a, b] = links as [FleetBreaker, FleetBreaker]
    const leave = async (link: FleetBreaker) => {
      await until(() => {
        link['requestProbe']()
        return link['probeLease']
      })
      return Number(link['probeLease']?.token.split(':')[0])
    }
    a.breaker.trip()
    await until(() => a.isFleetOpen && b.isFleetOpen)
    // The other has not heard of this epoch when it tells Redis what it knows.
    const first = await leave(b)
    await nodes[0]?.state['redis'].send('FLUSHALL')
    await a.sync()
    expect(await leave(a)).toBeGreaterThan(first)
  })

  it('is behind a network that is cut, swallows everything and mends comes back each time', async () => {
    const server = await redis()
    const proxy = await FaultProxy.start(server.port)
    afterwards(() => proxy.close())
    const a = await node(proxy.url, 'a')
    const b = await node(server.url, 'b')
    const mine = await a.add('service:api')
    const other = await b.add('service:api')
    for (const [round, fault] of (['cut', 'swallow'] as const).entries()) {
      proxy[fault]()
      await until(() => told(a, 'shared_state_lost') === round + 1)
      other.trip()
      proxy.mend()
      await until(() => told(a, 'shared_state_restored') === round + 1)
      await until(() => mine.state === 'open')
      mine.reset()
      await until(() => other.state === 'closed')
    }
  })

  it('ends the connection as it begins to listen again tries once more, and nothing is left unheard', async () => {
    const server = await redis()
    const proxy = await FaultProxy.start(server.port)
    afterwards(() => proxy.close())
    const a = await node(proxy.url, 'a')
    let cut = 0
    proxy.poison = 'subscribe'
    proxy.poisoned = () => cut++
    proxy.cut()
    proxy.mend()
    // An error that nobody handles would end the process, and fails the test here.
    await until(() => cut >= 3)
    expect(a.state.status().up).toBe(false)
    proxy.poison = undefined
    await until(() => a.state.status().up)
  })

  it('never sees its password in what is told', async () => {
    const a = await node('redis://:hunter2@127.0.0.1:1/0', 'a')
    expect(JSON.stringify(a.events)).not.toContain('hunter2')
    await expect(node('http://:hunter2@127.0.0.1:1', 'b')).rejects.toThrow(/unknown scheme 'http:'/)
    await expect(node('http://:hunter2@127.0.0.1:1', 'b')).rejects.not.toThrow(/hunter2/)
  })
})

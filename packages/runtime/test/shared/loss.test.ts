import { describe, expect, it } from 'vitest'
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
    await admin.state['wire'].send('FLUSHALL')
    await until(async () => (await a.state.nodes()).some(({ id }) => id === 'a'))
    await until(async () => {
      const c = await node(server.url, 'c')
      return (await c.add('service:api')).state === 'open'
    })
    expect(told(a, 'shared_state_lost')).toBe(0)
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

  it('never sees its password in what is told', async () => {
    const a = await node('redis://:hunter2@127.0.0.1:1/0', 'a')
    expect(JSON.stringify(a.events)).not.toContain('hunter2')
    await expect(node('http://:hunter2@127.0.0.1:1', 'b')).rejects.toThrow(/unknown scheme 'http:'/)
    await expect(node('http://:hunter2@127.0.0.1:1', 'b')).rejects.not.toThrow(/hunter2/)
  })
})

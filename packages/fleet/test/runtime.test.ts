import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Clock, sessionOf } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import { fakeClock } from 'holdfast/testing'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Holdfast, openRuntime } from '../../runtime/src/holdfast/holdfast.js'
import type { FleetNode } from '../src/index.js'
import { FaultProxy, missing, RealRedis, until } from './redis.js'
import { afterwards, DRIVER_WITH_TIMEOUTS, DRIVER_WITHOUT_TIMEOUTS } from './setup.js'

let server: RealRedis

async function open(
  config: object,
  store = 'memory',
  clock: Clock = systemClock,
  redisDriver = DRIVER_WITHOUT_TIMEOUTS,
): Promise<Holdfast> {
  const shared = { shared: server.url, node: { heartbeat: 100 }, ...config }
  const hf = await openRuntime({ config: shared, store, env: {}, clock }, { redisDriver })
  afterwards(() => hf.close())
  return hf
}

const broken = async () => {
  throw Object.assign(new Error('down'), { code: 'ECONNRESET' })
}

const stateOf = async (hf: Holdfast, id: string) => (await hf.breakers.get(id))?.state

describe.skipIf(missing !== undefined)('runtimes of one fleet', () => {
  beforeAll(async () => {
    server = await RealRedis.start()
  })
  afterAll(() => server?.kill())

  it('report the time at which the breaker opened in the fleet', async () => {
    const config = { circuitBreakers: { clocked: { timeoutDuration: 7_200_000 } } }
    const a = await open(config)
    await a.breakers.trip('service:clocked', { by: 'ops' })
    const redis = new Redis(server.url)
    afterwards(async () => redis.disconnect())
    const key = 'holdfast:{service:clocked}:state'
    await until(async () => (await redis.hget(key, 'state')) === 'open')
    // As if it had opened an hour ago.
    await redis.hincrby(key, 'openedAt', -3_600_000)
    const opened = (await a.breakers.get('service:clocked'))?.openTimestamp?.getTime() as number
    const minutesAgo = async (hf: Holdfast) => {
      const { openTimestamp, lastStateChange } = (await hf.breakers.get('service:clocked')) ?? {}
      return [openTimestamp, lastStateChange].map((at) =>
        Math.round((opened - (at as Date).getTime()) / 60_000),
      )
    }
    const late = await open(config)
    expect(await minutesAgo(late)).toEqual([60, 60])
    // A runtime restores the state that Redis has lost.
    await a.close()
    await redis.flushall()
    await until(async () => (await redis.hget(key, 'state')) === 'open')
    expect(await minutesAgo(await open(config))).toEqual([60, 60])
    await late.breakers.reset('service:clocked', { by: 'ops' })
  })

  it('list each other with the states of their breakers, and report nodes that join and leave', async () => {
    const config = { circuitBreakers: { api: { failureThreshold: 2 } } }
    const a = await open({ ...config, node: { id: 'a', heartbeat: 100 } })
    const events: unknown[] = []
    a.events.on('*', ({ eventType, context }) => void events.push([eventType, context?.['node']]))
    const b = await open({ ...config, node: { id: 'b', heartbeat: 100 } })
    await until(() => events.some((event) => JSON.stringify(event) === '["node_joined","b"]'))
    await b.breakers.trip('service:api', { by: 'ops' })
    let nodes: readonly FleetNode[] = []
    await until(async () => {
      nodes = (await a.fleet?.nodes()) ?? []
      return nodes.length === 2 && nodes.every(({ opinions }) => opinions['service:api'] === 'open')
    })
    expect(nodes.map(({ id, version }) => [id, version])).toEqual([
      ['a', expect.stringMatching(/^\d/)],
      ['b', expect.stringMatching(/^\d/)],
    ])
    await b.close()
    await until(() => events.some((event) => JSON.stringify(event) === '["node_left","b"]'))
    expect((await a.fleet?.nodes())?.map(({ id }) => id)).toEqual(['a'])
    await a.breakers.reset('service:api', { by: 'ops' })
  })

  it('apply a trip that was made on any of them, and after a restart', async () => {
    const config = { circuitBreakers: { mail: {} } }
    const [a, b] = [await open(config), await open(config)]
    await a.breakers.trip('service:mail', { by: 'ops' })
    await until(async () => (await stateOf(b, 'service:mail')) === 'open')
    await expect(b.run('x', async () => 1, { service: 'mail' })).rejects.toMatchObject({
      code: 'CIRCUIT_OPEN',
    })
    await Promise.all([a.close(), b.close()])
    const c = await open(config)
    await until(async () => (await stateOf(c, 'service:mail')) === 'open')
    await c.breakers.reset('service:mail', { by: 'ops' })
  })

  it('eject the same members of a pool', async () => {
    const breaker = { failureThreshold: 2, timeoutDuration: 600_000, share: 'state' }
    const member = { id: 'p1', url: 'http://127.0.0.1:1' }
    const config = {
      policies: { once: { maxAttempts: 1 } },
      pools: {
        proxies: { circuitBreaker: breaker, members: [member, { id: 'p2', url: 'http://127.0.0.1:2' }] },
      },
    }
    const [a, b] = [await open(config), await open(config)]
    for (let i = 0; i < 4; i++)
      await a
        .run('once', ({ member: chosen }) => (chosen?.id === 'p1' ? broken() : 'ok'), { pool: 'proxies' })
        .catch(() => {})
    await until(async () => (await stateOf(b, 'pool:proxies:p1')) === 'open')
    expect(b.pools.get('proxies').status('p1')).toBe('open')
    expect(b.pools.get('proxies').status('p2')).toBe('available')
    const late = await open(config)
    await until(async () => (await stateOf(late, 'pool:proxies:p1')) === 'open')
    b.pools.get('proxies').breaker('p1').reset()
    await until(() => a.pools.get('proxies').status('p1') === 'available')
  })

  it('restore the ejected members after a restart of all of them', async () => {
    const members = ['m1', 'm2'].map((id, i) => ({ id, url: `http://127.0.0.1:${i + 1}` }))
    const pools = { 'a pool': { circuitBreaker: { timeoutDuration: 600_000 }, members } }
    const id = 'pool:a%20pool:m1'
    const client = new Redis(server.url)
    afterwards(async () => client.disconnect())
    const ejectedIds = () => client.zrange('holdfast:{pool:a%20pool}:open', '0', '-1')
    const first = await open({ pools })
    await first.breakers.trip(id, { by: 'ops' })
    await until(async () => (await ejectedIds()).length === 1)
    expect(await client.pttl('holdfast:{pool:a%20pool}:open')).toBeGreaterThan(0)
    await first.close()
    const second = await open({ pools })
    expect(second.pools.get('a pool').status('m1')).toBe('open')
    expect(
      second.pools
        .get('a pool')
        .usedBreakers()
        .map((breaker) => breaker.id),
    ).toEqual([id])
    // A runtime that started without Redis reads the ejected members later.
    const proxy = await FaultProxy.start(server.port)
    afterwards(() => proxy.close())
    proxy.cut()
    const late = await open({ pools, shared: proxy.url }, 'memory', systemClock, DRIVER_WITH_TIMEOUTS)
    expect(late.pools.get('a pool').status('m1')).toBe('available')
    proxy.restore()
    await until(() => late.pools.get('a pool').status('m1') === 'open')
    await second.breakers.reset(id, { by: 'ops' })
    await until(async () => (await ejectedIds()).length === 0)
    await until(() => late.pools.get('a pool').status('m1') === 'available')
    expect((await open({ pools })).pools.get('a pool').status('m1')).toBe('available')
  })

  it('share the cooldown of a member', async () => {
    const members = ['p1', 'p2', 'p3'].map((id, i) => ({ id, url: `http://127.0.0.1:${i + 1}` }))
    const lone = { ...members[2], circuitBreaker: { share: 'none' } }
    const config = {
      policies: { once: { maxAttempts: 1 } },
      pools: {
        shy: { circuitBreaker: { timeoutDuration: 600_000 }, members: [members[0], members[1], lone] },
      },
    }
    const [a, b] = [await open(config), await open(config)]
    const status = (hf: Holdfast) => members.map(({ id }) => hf.pools.get('shy').status(id))
    const limited = Object.assign(new Error('slow down'), { status: 429 })
    for (let i = 0; i < 3; i++)
      await a
        .run('once', ({ member }) => (member?.id === 'p2' ? 'ok' : Promise.reject(limited)), { pool: 'shy' })
        .catch(() => {})
    expect(status(a)).toEqual(['resting', 'available', 'resting'])
    await until(() => b.pools.get('shy').status('p1') === 'resting')
    expect(status(b)).toEqual(['resting', 'available', 'available'])
    const late = await open(config)
    expect(status(late)).toEqual(['resting', 'available', 'available'])
    b.pools.get('shy').enable('p1')
    await until(() => status(a)[0] === 'available' && status(late)[0] === 'available')
    expect(status(await open(config))[0]).toBe('available')
  })

  it('apply policy changes that were made on one of them', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'holdfast-fleet-'))
    afterwards(() => rm(dir, { recursive: true, force: true }))
    const store = `sqlite:${join(dir, 'holdfast.db')}`
    const [a, b] = [await open({}, store), await open({}, store)]
    await a.policies.put({ id: 'fetch', maxAttempts: 9 }, { by: 'ops' })
    await until(async () => (await b.policies.get('fetch').catch(() => undefined))?.maxAttempts === 9)
  })

  it('append their events to one stream, which can be read from any place', async () => {
    const config = { policies: { twice: { maxAttempts: 2, backoffType: 'immediate' } } }
    const [a, b] = [
      await open({ ...config, node: { id: 'writer', heartbeat: 100 } }),
      await open({ ...config, node: { id: 'reader', heartbeat: 100 } }),
    ]
    await a.run('twice', broken, { name: 'streamed' }).catch(() => {})
    const mine = async () =>
      ((await b.fleet?.events({ limit: 1000 })) ?? []).filter(({ event }) => event.operation === 'streamed')
    await until(async () => (await mine()).length === 2)
    const [first, second] = await mine()
    expect([first?.node, first?.event.eventType, second?.event.eventType]).toEqual([
      'writer',
      'retry_attempt',
      'retry_failure',
    ])
    expect(first?.event.timestamp).toBeInstanceOf(Date)
    expect((await b.fleet?.events({ after: first?.place as string, limit: 1 }))?.[0]?.place).toBe(
      second?.place,
    )
  })

  it('share the retry budget of a policy with `shared`, and report how much is left', async () => {
    const budget = { ratio: 0, reservePerSecond: 0.05, window: 1_000_000, shared: true }
    const config = { policies: { busy: { maxAttempts: 100, backoffType: 'immediate', budget } } }
    // On a stopped clock no command to Redis times out, after which a node would use a budget of its own.
    const clock = fakeClock()
    const [a, b] = [await open(config, 'memory', clock), await open(config, 'memory', clock)]
    let retries = -4
    for (let i = 0; i < 2; i++)
      for (const hf of [a, b]) {
        const error = await hf
          .run('busy', async () => (retries++, await hf.nodes(), broken()))
          .catch((e) => e)
        expect(sessionOf(error)?.stopped).toBe('budget_spent')
      }
    // 50 for both, in slices of 5, and at most a slice on credit each.
    expect(retries).toBeGreaterThanOrEqual(50)
    expect(retries).toBeLessThanOrEqual(60)
    expect([...a.budgets()]).toEqual([['busy', expect.closeTo(0, -1.1)]])
  })

  it('have separate retry budgets without `shared`', async () => {
    const budget = { ratio: 0, reservePerSecond: 0.005, window: 1_000_000 }
    const config = { policies: { lone: { maxAttempts: 100, backoffType: 'immediate', budget } } }
    for (const hf of [await open(config), await open(config)]) {
      let calls = 0
      await hf.run('lone', async () => (calls++, broken())).catch(() => {})
      expect(calls).toBe(6)
    }
  })

  it('report the status of their connection to the fleet', async () => {
    const hf = await open({ node: { id: 'teller', heartbeat: 100 } })
    expect(hf.fleet?.status()).toMatchObject({ node: 'teller', up: true, losses: 0, eventsDropped: 0 })
    expect(hf.fleet?.status()).not.toHaveProperty('lostSince')
    expect((await hf.nodes()).map(({ id }) => id)).toContain('teller')
  })

  it('send only heartbeats to Redis while no call fails', async () => {
    const hf = await open({ circuitBreakers: { quiet: {} }, node: { heartbeat: 60_000 } })
    const before = hf.fleet?.commands
    for (let i = 0; i < 1000; i++) await hf.run('x', async () => i, { service: 'quiet' })
    expect(hf.fleet?.commands).toBe(before)
  })

  it('leave only keys in Redis that expire', async () => {
    const budget = { ratio: 0.2, shared: true }
    const hf = await open({
      policies: { tidy: { maxAttempts: 2, backoffType: 'immediate', budget } },
      circuitBreakers: { tidy: { failureThreshold: 2 }, sums: { share: 'counts' } },
      pools: { tidy: { members: [{ id: 'p', url: 'http://127.0.0.1:1' }] } },
    })
    const limited = Object.assign(new Error('slow down'), { status: 429 })
    for (const given of [{ service: 'tidy' }, { service: 'sums' }])
      await hf.run('tidy', broken, given).catch(() => {})
    await hf.run('tidy', () => Promise.reject(limited), { pool: 'tidy' }).catch(() => {})
    const client = new Redis(server.url)
    afterwards(async () => client.disconnect())
    const parts = ['{service:tidy}:state', '{service:sums}:counts', '{pool:tidy}:rests']
    const kept = [...parts, '{budget:tidy}:window', '{nodes}:live', '{nodes}:records', 'events']
    await until(async () => (await client.exists(...kept.map((key) => `holdfast:${key}`))) === kept.length)
    for (const key of await client.keys('*')) {
      expect(key).toMatch(/^holdfast:(\{.+\}:\w+|events)$/)
      // -1 is a key that never expires; -2 one that was deleted meanwhile, such as a round of votes.
      expect(await client.pttl(key), key).not.toBe(-1)
    }
  })

  it('reject a url with another scheme without repeating its password', async () => {
    const opening = Holdfast.open({ config: { shared: 'http://:hunter2@redis' }, env: {} })
    await expect(opening).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    await expect(opening).rejects.not.toThrow(/hunter2/)
  })
})

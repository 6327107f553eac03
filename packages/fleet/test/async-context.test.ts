import { AsyncLocalStorage } from 'node:async_hooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Holdfast } from '../../runtime/src/holdfast/holdfast.js'
import { missing, RealRedis, until } from './redis.js'
import { afterwards } from './setup.js'

const caller = new AsyncLocalStorage<string>()

const broken = async () => {
  throw Object.assign(new Error('down'), { code: 'ECONNRESET' })
}

let server: RealRedis

async function open(api: string, timeoutDuration: number): Promise<Holdfast> {
  const hf = await Holdfast.open({
    config: {
      shared: server.url,
      node: { heartbeat: 100 },
      policies: {
        default: {
          maxAttempts: 3,
          baseDelay: 1,
          circuitBreaker: api,
          budget: { ratio: 1, reservePerSecond: 100, shared: true },
        },
      },
      circuitBreakers: { [api]: { failureThreshold: 3, timeoutDuration } },
    },
    store: 'memory',
    env: {},
  })
  afterwards(() => hf.close())
  return hf
}

describe.skipIf(missing !== undefined)('async context in a fleet', () => {
  beforeAll(async () => {
    server = await RealRedis.start()
  })
  afterAll(() => server?.kill())

  it('is that of the caller in each attempt, with a shared budget and a probe that Redis grants', async () => {
    const hf = await caller.run('opener', () => open('api', 200))
    const state = async () => (await hf.breakers.get('service:api'))?.state
    const seen: unknown[] = []
    const fn = (name: string) => async () => {
      seen.push([name, caller.getStore()])
      return broken()
    }
    const call = (name: string) => caller.run(name, () => hf.run('mail.send', fn(name)).catch(() => {}))
    await Promise.all(['a', 'b'].map(call))
    await until(async () => (await state()) === 'open')
    // The first call after Redis has granted a probe makes it.
    const probe = async () => {
      await caller.run('c', () =>
        hf.run('mail.send', async () => seen.push(['c', caller.getStore()])).catch(() => {}),
      )
      return (await state()) === 'closed'
    }
    await until(probe)
    expect(seen.length).toBeGreaterThan(3)
    for (const [name, store] of seen as [string, string][]) expect(store).toBe(name)
  })

  it('is empty in event listeners when another node changes a breaker', async () => {
    const stores: unknown[] = []
    const here = await caller.run('opener', () => open('other', 600_000))
    const there = await open('other', 600_000)
    await until(async () => (await here.fleet?.nodes())?.length === 2)
    await caller.run('a', () => here.run('mail.send', async () => {}))
    here.events.on('circuit_breaker_opened', () => void stores.push(caller.getStore()))
    await there.breakers.trip('service:other', { by: 'ops' })
    await until(() => stores.length > 0)
    expect(stores).toEqual([undefined])
  })
})

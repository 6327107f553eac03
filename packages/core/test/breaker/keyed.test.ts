import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  type CircuitBreaker,
  type GuardEvent,
  guard,
  isHoldfastError,
  type KeyedBreakerOptions,
} from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { held } from './setup.js'

afterEach(() => vi.restoreAllMocks())

const down = () => Promise.reject(new Error('down'))
const up = async () => 'up'

/** A guard with a breaker per host. */
function perHost(options: Partial<KeyedBreakerOptions> = {}, name?: string) {
  const clock = fakeClock()
  const kept = guard({
    ...(name === undefined ? {} : { name }),
    clock,
    retry: false,
    breaker: { failureThreshold: 1, timeoutDuration: 1000, key: (context) => context as string, ...options },
  })
  const call = (host: unknown, fn: () => Promise<string>) =>
    kept.run(fn, { context: host }).catch((error) => error)
  const keys = () => [...(kept.breakers?.keys() ?? [])]
  const of = (host: string) => kept.breakers?.get(host) as CircuitBreaker
  return { kept, clock, call, keys, of }
}

describe('keyed breakers', () => {
  it('are one for each key, created when the key is first used', async () => {
    const { call, keys } = perHost()
    expect(keys()).toEqual([])
    await call('a', up)
    await call('b', up)
    await call('a', up)
    expect(keys().sort()).toEqual(['a', 'b'])
  })

  it('open independently', async () => {
    const { call, of } = perHost()
    await call('a', down)
    expect(of('a').state).toBe('open')
    expect(isHoldfastError(await call('a', up), 'CIRCUIT_OPEN')).toBe(true)
    expect(await call('b', up)).toBe('up')
  })

  it('are selected by the key function from the context', async () => {
    const { call, keys } = perHost({ key: (context) => (context as { tenant: string }).tenant })
    await call({ tenant: 'acme', user: 1 }, up)
    await call({ tenant: 'acme', user: 2 }, up)
    await call({ tenant: 'umbrella', user: 3 }, up)
    expect(keys()).toEqual(['acme', 'umbrella'])
  })

  it('stay the same for all attempts of a call', async () => {
    const clock = fakeClock()
    let asked = 0
    const kept = guard({
      clock,
      retry: { maxAttempts: 3, backoffType: 'immediate' },
      breaker: { key: () => `${asked++}` },
    })
    await kept.run(down, { context: 'x' }).catch(() => {})
    expect(asked).toBe(1)
    expect(kept.breakers?.get('0')?.failureCount).toBe(3)
  })

  it('replace the one breaker of the guard', () => {
    const { kept } = perHost()
    expect(kept.breaker).toBeUndefined()
    expect(guard({ breaker: {} }).breakers).toBeUndefined()
  })

  it('count calls without a context under a key of their own', async () => {
    const { call, keys } = perHost()
    await call(undefined, up)
    expect(keys()).toEqual(['undefined'])
  })

  it('have the name of the guard and their key as id', async () => {
    const named = perHost({}, 'api')
    await named.call('a', up)
    expect(named.of('a').id).toBe('api:a')
    const nameless = perHost()
    await nameless.call('a', up)
    expect(nameless.of('a').id).toBe('a')
  })

  it('all have the options of the guard, and its clock', async () => {
    const { call, of, clock } = perHost({ failureThreshold: 2 })
    await call('a', down)
    expect(of('a').state).toBe('closed')
    await call('a', down)
    expect(of('a').nextTestTime).toBe(clock.wall() + 1000)
    await clock.advance(1000)
    expect(await call('a', up)).toBe('up')
    expect(of('a').state).toBe('closed')
  })

  it('emit their state changes to the listeners of the guard, with their id', async () => {
    const { kept, call } = perHost({}, 'api')
    const events: GuardEvent[] = []
    await call('a', up)
    const off = kept.on((event) => event.type === 'breaker_changed' && events.push(event))
    await call('a', down)
    await call('b', down)
    expect(events).toMatchObject([
      { type: 'breaker_changed', id: 'api:a', fromState: 'closed', toState: 'open' },
      { type: 'breaker_changed', id: 'api:b', fromState: 'closed', toState: 'open' },
    ])
    off()
    await call('c', down)
    expect(events).toHaveLength(2)
  })

  describe('beyond maxKeys', () => {
    it('are kept up to that number', async () => {
      const { call, keys } = perHost({ maxKeys: 3 })
      for (const host of ['a', 'b', 'c', 'a', 'b', 'c']) await call(host, up)
      expect(keys()).toEqual(['a', 'b', 'c'])
    })

    it('evict the least recently used one', async () => {
      const { call, keys } = perHost({ maxKeys: 3 })
      for (const host of ['a', 'b', 'c', 'a', 'd']) await call(host, up)
      expect(keys()).toEqual(['c', 'a', 'd'])
      for (let i = 0; i < 100; i++) {
        await call(`${i}`, up)
        expect(keys()).toHaveLength(3)
      }
      expect(keys()).toEqual(['97', '98', '99'])
    })

    it('create a new one for a key that was evicted', async () => {
      const { call, of } = perHost({ maxKeys: 1, failureThreshold: 2 })
      await call('a', down)
      const before = of('a')
      await call('b', up)
      await call('a', up)
      expect(of('a')).not.toBe(before)
      expect(of('a').failureCount).toBe(0)
    })

    it('never evict an open one', async () => {
      const { call, keys, of } = perHost({ maxKeys: 2 })
      await call('bad', down)
      for (let i = 0; i < 100; i++) await call(`${i}`, up)
      expect(of('bad').state).toBe('open')
      expect(keys()).toHaveLength(2)
      expect(keys()).toContain('99')
    })

    it('never evict a half-open one', async () => {
      const { kept, call, of, clock } = perHost({ maxKeys: 2 })
      await call('bad', down)
      await clock.advance(1000)
      void kept.run(() => new Promise<never>(() => {}), { context: 'bad' })
      expect(of('bad').state).toBe('half_open')
      for (let i = 0; i < 100; i++) await call(`${i}`, up)
      expect(of('bad').state).toBe('half_open')
    })

    it('never evict a disabled one', async () => {
      const { call, of } = perHost({ maxKeys: 2 })
      await call('off', up)
      of('off').disable()
      for (let i = 0; i < 100; i++) await call(`${i}`, up)
      expect(of('off').disabled).toBe(true)
    })

    it('are kept while all of them are open, and evicted once they close', async () => {
      const { call, keys, clock } = perHost({ maxKeys: 3 })
      const hosts = Array.from({ length: 40 }, (_, i) => `${i}`)
      for (const host of hosts) await call(host, down)
      expect(keys()).toHaveLength(40)
      await clock.advance(1000)
      for (let round = 0; round < 3; round++) for (const host of hosts) await call(host, up)
      expect(keys()).toHaveLength(3)
    })

    it('never evict the one just used', async () => {
      const { call, keys } = perHost({ maxKeys: 1 })
      await call('bad', down)
      for (const host of ['a', 'b', 'a', 'c']) {
        await call(host, up)
        expect(keys()).toContain(host)
      }
    })

    it('find a closed one behind many that are open', async () => {
      const { call, keys } = perHost({ maxKeys: 21 })
      for (let i = 0; i < 20; i++) await call(`bad${i}`, down)
      for (let i = 0; i < 60; i++) await call(`${i}`, up)
      expect(keys().filter((key) => key.startsWith('bad'))).toHaveLength(20)
      // One eviction scans 16 of them; a few calls later all have been scanned.
      expect(keys().length).toBeLessThanOrEqual(24)
    })

    it('do not interrupt a call whose breaker is evicted meanwhile', async () => {
      const { kept, call, keys } = perHost({ maxKeys: 1 })
      const { promise, resolve } = held<string>()
      const running = kept.run(() => promise, { context: 'a' })
      await call('b', up)
      expect(keys()).toEqual(['b'])
      resolve('done')
      await expect(running).resolves.toBe('done')
    })
  })

  describe('whose key function throws', () => {
    it('continue the call, and report the error once', async () => {
      const said = vi.spyOn(console, 'error').mockImplementation(() => {})
      const oops = new Error('no host')
      const { call } = perHost({
        key: () => {
          throw oops
        },
      })
      expect(await call('a', up)).toBe('up')
      expect(await call('b', up)).toBe('up')
      expect(said).toHaveBeenCalledTimes(1)
      expect(said.mock.lastCall?.[0]).toContain('key')
      expect(said.mock.lastCall?.[1]).toBe(oops)
    })

    it('share one breaker, under the empty key', async () => {
      vi.spyOn(console, 'error').mockImplementation(() => {})
      const { call, keys, of } = perHost({
        key: () => {
          throw new Error('no host')
        },
      })
      await call('a', down)
      expect(keys()).toEqual([''])
      expect(of('').state).toBe('open')
      expect(isHoldfastError(await call('b', up), 'CIRCUIT_OPEN')).toBe(true)
    })

    it('do the same where the key cannot be converted to a string', async () => {
      const said = vi.spyOn(console, 'error').mockImplementation(() => {})
      const { call, keys } = perHost({ key: () => Object.create(null) as string })
      expect(await call('a', up)).toBe('up')
      expect(keys()).toEqual([''])
      expect(said).toHaveBeenCalledTimes(1)
    })
  })
})

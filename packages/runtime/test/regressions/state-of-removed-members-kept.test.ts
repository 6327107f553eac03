import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CircuitBreaker } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../../store/src/memory/index.js'
import { BreakerPersistence } from '../../src/breakers/persistence.js'
import type { BreakerRegistry } from '../../src/breakers/registry.js'
import { MemberTarget } from '../../src/pools/target.js'
import { folder, start } from '../holdfast/setup.js'

const registryOf = (hf: object) => (hf as { container: { registry: BreakerRegistry } }).container.registry

const FILE = (parts: object) => JSON.stringify({ version: '1.2.0', store: 'memory', ...parts })

describe('the opening of a breaker', () => {
  it('is deleted with the member of the pool', async () => {
    const { hf } = await start({ pools: { p: { members: [] } } })
    const pool = hf.pools.get('p')
    const value = new MemberTarget('http://127.0.0.1:1')
    for (let i = 0; i < 20; i++) {
      const id = `member:${i}`
      pool.add({ id, value })
      pool.breaker(id).trip()
      expect(registryOf(hf).openings.size).toBe(1)
      pool.remove(id)
    }
    expect(registryOf(hf).openings.size).toBe(0)
  })

  it('is deleted with its pool or its service', async () => {
    const members = [{ id: 'a', url: 'http://127.0.0.1:1' }]
    const before = FILE({ pools: { p: { members } }, circuit_breakers: { n: {} } })
    const path = join(await folder({ 'holdfast.json': before }), 'holdfast.json')
    const { hf } = await start(path, { watch: false })
    await hf.breakers.trip('pool:p:a', { by: 'me' })
    await hf.breakers.trip('service:n', { by: 'me' })
    expect(registryOf(hf).openings.size).toBe(2)
    await writeFile(path, FILE({}))
    await hf.config.reload()
    expect(registryOf(hf).openings.size).toBe(0)
  })
})

describe('the saved state of breakers', () => {
  function createSaver() {
    const clock = fakeClock()
    const store = memoryStore().breakers
    return { clock, store, persistence: new BreakerPersistence({ clock, store, onFailed: () => {} }) }
  }

  it('is not kept in memory for breakers that were saved', async () => {
    const { clock, persistence } = createSaver()
    for (let i = 0; i < 20; i++) {
      const breaker = new CircuitBreaker({ id: `member:${i}`, clock })
      breaker.trip()
      persistence.saveIfChanged(breaker)
      await persistence.flush()
    }
    const maps = Object.values(persistence).filter((value) => value instanceof Map)
    expect(maps.map(({ size }) => size)).toEqual(maps.map(() => 0))
  })

  it('is not that of an earlier breaker with the same id', async () => {
    const { clock, store, persistence } = createSaver()
    const earlier = new CircuitBreaker({ id: 'a', clock })
    earlier.trip()
    persistence.saveIfChanged(earlier)
    await persistence.flush()
    persistence.saveIfChanged(new CircuitBreaker({ id: 'a', clock }))
    await persistence.flush()
    expect((await store.load()).map(({ snapshot }) => snapshot.state)).toEqual(['open'])
  })

  it('keeps its creation time over saves and restarts', async () => {
    const { clock, store, persistence } = createSaver()
    const createdAt = new Date(clock.wall())
    const breaker = new CircuitBreaker({ id: 'a', clock })
    const change = async (target: BreakerPersistence, changed: CircuitBreaker) => {
      await clock.advance(1000)
      changed.trip()
      target.saveIfChanged(changed)
      await target.flush()
      expect((await store.load()).map((row) => row.createdAt)).toEqual([createdAt])
    }
    breaker.trip()
    persistence.saveIfChanged(breaker)
    await persistence.flush()
    await change(persistence, breaker)
    const next = new BreakerPersistence({ clock, store, onFailed: () => {} })
    await next.load()
    await change(next, new CircuitBreaker({ id: 'a', clock }))
  })
})

import { join } from 'node:path'
import { type BreakerOptions, CircuitBreaker } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../../store/src/memory/index.js'
import { BreakerPersistence } from '../../src/breakers/persistence.js'
import { failing, folder, refused, start } from '../holdfast/setup.js'

async function succeed(hf: Awaited<ReturnType<typeof start>>['hf'], times: number): Promise<void> {
  for (let i = 0; i < times; i++) await hf.run('once', () => 'fine', { service: 'n' })
}

async function restartTwice(breaker: BreakerOptions, failures: number, successes: number) {
  const store = `sqlite:${join(await folder(), 'h.db')}`
  const clock = fakeClock({ wall: Date.UTC(2026, 0, 1) })
  const config = {
    policies: { once: { maxAttempts: 1 } },
    circuitBreakers: { n: { ...breaker, persistState: true } },
  }
  const a = await start(config, { store, clock })
  for (let i = 0; i < failures; i++) await failing(a.hf, 'once', refused, { service: 'n' })
  await a.hf.close()
  const b = await start(config, { store, clock })
  await succeed(b.hf, successes)
  await b.hf.close()
  return start(config, { store, clock })
}

describe('successes of a breaker that is saved', () => {
  it('clear the failures of a consecutive window over a restart', async () => {
    const { hf } = await restartTwice({ windowType: 'consecutive', failureThreshold: 5 }, 4, 1)
    expect(await hf.breakers.get('service:n')).toMatchObject({ state: 'closed', failureCount: 0 })
    await failing(hf, 'once', refused, { service: 'n' })
    expect(await hf.breakers.get('service:n')).toMatchObject({ state: 'closed', failureCount: 1 })
  })

  it('lower the failure rate of a rate window over a restart', async () => {
    const { hf } = await restartTwice({ failureRate: 0.5, minimumCalls: 10 }, 4, 20)
    for (let i = 0; i < 6; i++) await failing(hf, 'once', refused, { service: 'n' })
    expect(await hf.breakers.get('service:n')).toMatchObject({ state: 'closed', failureCount: 10 })
  })
})

function createSaver(options: BreakerOptions) {
  const clock = fakeClock({ wall: Date.UTC(2026, 0, 1) })
  const store = memoryStore().breakers
  const persistence = new BreakerPersistence({ clock, store, onFailed: () => {} })
  const breaker = new CircuitBreaker({ id: 'n', clock, failureThreshold: 9, ...options })
  let saved = 0
  const save = store.save.bind(store)
  store.save = async (rows) => {
    saved += rows.length
    await save(rows)
  }
  const run = (outcomes: string) => {
    for (const outcome of outcomes) {
      const permit = breaker.admit()
      if (outcome === '0') permit?.failure()
      else permit?.success()
    }
  }
  /** Checks the breaker as the runtime does at each interval; returns how many rows were saved. */
  const check = async () => {
    saved = 0
    expect(breaker.failureCount).toBeGreaterThanOrEqual(0) // removes the failures that have expired
    persistence.saveIfChanged(breaker)
    await persistence.flush()
    return saved
  }
  return { clock, store, breaker, run, check }
}

const WINDOWS: [string, BreakerOptions][] = [
  ['rolling', {}],
  ['consecutive', { windowType: 'consecutive' }],
  ['rate', { failureRate: 1, windowDuration: 60_000 }],
  ['adaptive', { adaptive: true }],
]

describe('a breaker that is saved', () => {
  it.each(WINDOWS)('is not written while it only succeeds (%s)', async (_, options) => {
    const { run, check } = createSaver(options)
    run('11111')
    expect(await check()).toBe(0)
    run('0')
    expect(await check()).toBe(1)
    await check()
    expect(await check()).toBe(0)
  })

  it.each(WINDOWS)('is not written when its failures only expire (%s)', async (_, options) => {
    const { clock, run, check } = createSaver(options)
    run('10')
    expect(await check()).toBe(1)
    await clock.advance(30_000)
    run('0')
    expect(await check()).toBe(1)
    for (let i = 0; i < 4; i++) {
      await clock.advance(20_000)
      expect(await check()).toBe(0)
    }
  })

  it.each([
    ['consecutive', { windowType: 'consecutive' }, 0],
    ['rate', { windowType: 'rate' }, 4],
  ] satisfies [string, BreakerOptions, number][])(
    'has its last successes in the store (%s)',
    async (_, options, calls) => {
      const { run, store, check } = createSaver(options)
      run('0')
      await check()
      run('111')
      expect(await check()).toBe(1)
      const [row] = await store.load()
      expect(row?.snapshot.failureWindow[1] ?? 0).toBe(calls)
    },
  )

  it('has its slow calls and the fast ones after them in the store', async () => {
    const { clock, breaker, run, store, check } = createSaver({ slowCallRate: 1, slowCallDuration: 1000 })
    const permit = breaker.admit()
    await clock.advance(1000)
    permit?.success()
    expect(await check()).toBe(1)
    run('1')
    expect(await check()).toBe(1)
    expect((await store.load())[0]?.snapshot.failureWindow).toEqual([clock.wall(), 2, 0, 1])
  })

  it('has its last successes in the store while an adaptive threshold counts failures', async () => {
    const { run, store, check } = createSaver({ adaptive: true })
    run('0')
    await check()
    run('111')
    expect(await check()).toBe(1)
    expect((await store.load())[0]?.snapshot.results).toBe('0111')
  })
})

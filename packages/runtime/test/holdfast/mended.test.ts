import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { GuardEvent } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it, vi } from 'vitest'
import { failing, folder, refused, start, timeout } from './setup.js'

const QUICK = { policies: { quick: { maxAttempts: 3, backoffType: 'immediate' } } }

describe('records', () => {
  it.each([
    ['from', 'yesterday'],
    ['to', new Date(Number.NaN)],
    ['operation', 5],
    ['limit', 0],
    ['order', 'up'],
    ['cursor', 5],
  ])('are not listed by a filter that cannot be gone by: %s %s', async (field, value) => {
    const { hf } = await start(QUICK)
    const filter = { [field]: value } as never
    for (const list of [
      () => hf.sessions.list(filter),
      () => hf.sessions.list({ ...(filter as object), active: true }),
      () => hf.events.list(filter),
      () => hf.errors.list(filter),
      () => hf.audit.list(filter),
      () => hf.breakers.events(filter),
    ])
      await expect(list()).rejects.toMatchObject({
        code: 'INVALID_OPTIONS',
        message: expect.stringContaining(`${field}: `),
      })
  })

  it('are not let go of because the clock was set forward', async () => {
    const { hf, clock } = await start({ ...QUICK, deadLetters: { maxAge: 1000 }, sessions: { maxAge: 1000 } })
    await failing(hf, 'quick', refused, { payload: 1 })
    clock.stepWall(365 * 86_400_000)
    const { housekeeping } = (
      hf as unknown as { container: { housekeeping: { enforceRetention(): Promise<void> } } }
    ).container
    await housekeeping.enforceRetention()
    expect((await hf.deadLetters.stats()).total).toBe(1)
    expect((await hf.sessions.list()).items).toHaveLength(1)
    await clock.advance(2000)
    await housekeeping.enforceRetention()
    expect((await hf.deadLetters.stats()).total).toBe(0)
    expect((await hf.sessions.list()).items).toHaveLength(0)
  })

  it('that are old are let go of though others cannot be', async () => {
    const { hf, clock } = await start({ ...QUICK, deadLetters: { maxAge: 1000 } })
    await failing(hf, 'quick', refused, { payload: 1 })
    await clock.advance(2000)
    const { housekeeping } = (
      hf as unknown as { container: { housekeeping: { enforceRetention(): Promise<void> } } }
    ).container
    vi.spyOn(hf.store.sessions, 'expire').mockRejectedValue(new Error('locked'))
    await expect(housekeeping.enforceRetention()).rejects.toThrow('locked')
    expect((await hf.deadLetters.stats()).total).toBe(0)
  })

  it('are written once, however many read at once', async () => {
    const { hf } = await start(QUICK)
    for (let i = 0; i < 5; i++) await failing(hf, 'quick', refused)
    await Promise.all([
      hf.sessions.list(),
      hf.sessions.list(),
      hf.events.list(),
      hf.events.list(),
      hf.errors.list(),
    ])
    expect((await hf.sessions.list()).items).toHaveLength(5)
    expect((await hf.events.list({ limit: 1000 })).items).toHaveLength(15)
    expect((await hf.errors.list({ limit: 1000 })).items).toHaveLength(15)
  })

  it('of a refused call have the reason as their kind, which dead letters may skip', async () => {
    const { hf } = await start({
      policies: {
        once: { maxAttempts: 1, enableCircuitBreaker: true, circuitBreakerThreshold: 1 },
      },
      deadLetters: { skipKinds: ['circuit_open'] },
    })
    await failing(hf, 'once', refused)
    await failing(hf, 'once', refused, { payload: 1 })
    const [latest] = (await hf.errors.list()).items
    expect(latest).toMatchObject({ kind: 'circuit_open', severity: 'ERROR' })
    expect((await hf.deadLetters.list()).items).toEqual([])
  })

  it('have no error for what an operator or the caller ended, and say how it ended', async () => {
    const { hf, clock } = await start({ policies: { slow: { maxAttempts: 3, baseDelay: 1000 } } })
    const call = failing(hf, 'slow', refused)
    await clock.advance(1)
    const [active] = (await hf.sessions.list({ active: true, limit: 1 })).items
    await hf.sessions.cancel(active?.sessionId ?? '')
    await call
    expect((await hf.errors.list()).items).toHaveLength(1)
    const [session] = (await hf.sessions.list()).items
    expect(session?.finalError?.message).toMatch(/was cancelled/)
  })

  it('name each policy once, and the last that decided', async () => {
    const { hf } = await start({
      policies: {
        a: { maxAttempts: 4, backoffType: 'immediate' },
        b: { maxAttempts: 4, backoffType: 'immediate' },
      },
      subsystemMappings: { s: { op: { timeout: 'a', network_error: 'b' } } },
    })
    const errors = [timeout(), refused(), timeout(), refused()]
    let i = 0
    await failing(hf, 's.op', () => errors[i++])
    const [session] = (await hf.sessions.list()).items
    expect(session).toMatchObject({ policyIds: ['a', 'b'], policyId: 'b' })
  })
})

describe('a call', () => {
  it('that cannot be made is refused, and is not among those that run', async () => {
    const { hf } = await start(QUICK)
    const run = hf.run.bind(hf) as unknown as (...args: unknown[]) => Promise<unknown>
    for (const args of [
      ['quick', 'nope'],
      ['quick', async () => 1, null],
      ['quick', async () => 1, { signal: {} }],
      ['quick', async () => 1, { policy: 7 }],
      ['quick', async () => 1, { policy: { maxAttemps: 2 } }],
      ['quick', async () => 1, { policy: { maxAttempts: 'many' } }],
      ['', async () => 1],
    ])
      await expect(run(...args)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
    expect((await hf.health()).activeSessions).toBe(0)
  })

  it('takes a whole policy of its own, and changes nothing for others by it', async () => {
    const { hf } = await start({
      policies: { b: { maxAttempts: 1, enableCircuitBreaker: true, circuitBreakerThreshold: 5 } },
    })
    let calls = 0
    await failing(hf, 'b', () => (calls++, refused()), {
      policy: { id: 'adhoc', name: 'Ad hoc', maxAttempts: 4, backoffType: 'immediate' },
    })
    expect(calls).toBe(4)
    await failing(hf, 'b', refused, { policy: { circuitBreakerThreshold: 1 } })
    expect(await hf.breakers.get('policy:b')).toMatchObject({
      state: 'closed',
      failureThreshold: 5,
      failureCount: 1,
    })
  })

  it('under another policy retries though its own is off', async () => {
    const { hf } = await start({
      policies: { default: { enabled: false }, other: { maxAttempts: 3, backoffType: 'immediate' } },
    })
    let calls = 0
    await failing(hf, 'op', () => (calls++, refused()), { policy: 'other' })
    expect(calls).toBe(3)
  })

  it('of an operation that is off has its signal and its member', async () => {
    const { hf } = await start({
      policies: { default: { enabled: false } },
      pools: { p: { members: [{ id: 'm', url: 'http://127.0.0.1:9' }] } },
    })
    const controller = new AbortController()
    const hangs = hf
      .run('op', () => new Promise(() => {}), { signal: controller.signal })
      .catch((error) => error)
    controller.abort(new Error('enough'))
    expect(await hangs).toMatchObject({ message: 'enough' })
    expect(await hf.run('op', async ({ member }) => member?.id, { pool: 'p' })).toBe('m')
  })
})

describe('a guard of the runtime', () => {
  it('takes retry options for one call and tells what happens in the words of the engine', async () => {
    const { hf } = await start(QUICK)
    const guard = hf.guard('quick')
    const events: GuardEvent[] = []
    const off = guard.on((event) => void events.push(event))
    const error = refused()
    let calls = 0
    const fail = () => {
      calls++
      return Promise.reject(error)
    }
    await guard.run(fail, { retry: { maxAttempts: 2 } }).catch(() => {})
    expect(calls).toBe(2)
    await guard.run(fail, { retry: { abortOn: [() => true] } }).catch(() => {})
    expect(calls).toBe(3)
    await guard.run(fail, { retry: false }).catch(() => {})
    expect(calls).toBe(4)
    await guard.run(async () => 1)
    off()
    expect(events.slice(0, 4).map(({ type }) => type)).toEqual([
      'attempt_failed',
      'retry_scheduled',
      'attempt_failed',
      'gave_up',
    ])
    expect(events[3]).toMatchObject({ attempt: 2, stopped: 'attempts_spent' })
    expect((events[3] as { error: unknown }).error).toBe(error)
    expect(events.at(-1)).toMatchObject({ type: 'succeeded', attempt: 1 })
    await expect(guard.run(fail, { retry: { maxAttempts: 0 } })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    })
  })
})

describe('listeners', () => {
  it('that are none are refused, and those that are off hear nothing more', async () => {
    const { hf } = await start(QUICK)
    const on = hf.events.on as (type: string, listener: unknown) => () => void
    expect(() => on('retry_failure', undefined)).toThrow(/takes a function/)
    expect(() => on('retry_failed', () => {})).toThrow(/takes \* or one of/)
    const heard: string[] = []
    let finish = () => {}
    const off = hf.events.on('*', ({ eventType }) => {
      heard.push(eventType)
      return new Promise<void>((resolve) => {
        finish = resolve
      })
    })
    await failing(hf, 'quick', refused)
    off()
    finish()
    await Promise.resolve()
    expect(heard).toEqual(['retry_attempt'])
  })
})

describe('breakers', () => {
  it('that another process opened are not hidden by one that never saw them fail', async () => {
    const dir = await folder()
    const store = `sqlite:${join(dir, 'h.db')}`
    const config = {
      policies: { once: { maxAttempts: 1 } },
      circuitBreakers: { n: { failureThreshold: 1, timeoutDuration: 60_000, persistState: true } },
    }
    const a = await start(config, { store })
    const b = await start(config, { store })
    await failing(a.hf, 'once', refused, { service: 'n' })
    await a.hf.close()
    await b.hf.close()
    const c = await start(config, { store })
    expect(await c.hf.breakers.get('service:n')).toMatchObject({ state: 'open' })
  })

  it('that are tripped again while open keep their new time over a restart', async () => {
    const dir = await folder()
    const store = `sqlite:${join(dir, 'h.db')}`
    const config = { circuitBreakers: { n: { timeoutDuration: 60_000, persistState: true } } }
    const clock = fakeClock({ wall: Date.UTC(2026, 0, 1) })
    const a = await start(config, { store, clock })
    await a.hf.breakers.trip('service:n', { by: 'me' })
    await clock.advance(30_000)
    const { nextTestTime } = await a.hf.breakers.trip('service:n', { by: 'me' })
    expect(nextTestTime).toEqual(new Date(clock.wall() + 60_000))
    await a.hf.close()
    const b = await start(config, { store, clock })
    expect(await b.hf.breakers.get('service:n')).toMatchObject({ state: 'open', nextTestTime })
  })

  it('of members are found by a name that is written as it is', async () => {
    const { hf } = await start({ pools: { p: { members: [{ url: 'http://127.0.0.1:9001' }] } } })
    const id = 'pool:p:127.0.0.1%3A9001'
    expect(await hf.breakers.get('pool:p:127.0.0.1:9001')).toMatchObject({ id })
    expect(await hf.breakers.trip('pool:p:127.0.0.1:9001', { by: 'me' })).toMatchObject({ id, state: 'open' })
  })

  it('know when they opened while they are tested, and tell of changes at once', async () => {
    const { hf, clock } = await start({
      policies: { once: { maxAttempts: 1 } },
      circuitBreakers: { n: { failureThreshold: 1, timeoutDuration: 1000, successThreshold: 2 } },
    })
    const opened = new Date(clock.wall())
    await failing(hf, 'once', refused, { service: 'n' })
    expect((await hf.breakers.events()).items).toMatchObject([{ toState: 'open' }])
    await clock.advance(5000)
    await hf.run('once', async () => 1, { service: 'n' })
    expect(await hf.breakers.get('service:n')).toMatchObject({ state: 'half_open', openTimestamp: opened })
  })
})

describe('a file and changes through the API that contradict each other', () => {
  const FILE = (delay: number, breakers = 'notion: {}') => `version: "1.1.0"
store: memory
policies: { fetch: { base_delay: ${delay} } }
circuit_breakers: { ${breakers} }
`

  it('are refused together, and what was in force stays so', async () => {
    const said = vi.spyOn(console, 'error').mockImplementation(() => {})
    const dir = await folder({ 'holdfast.yaml': FILE(0.1) })
    const path = join(dir, 'holdfast.yaml')
    const { hf } = await start(path, { watch: false })
    await hf.policies.put({ id: 'fetch', maxDelay: 1000 })
    await writeFile(path, FILE(5))
    await expect(hf.config.reload()).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    expect(await hf.run('fetch', async () => 1)).toBe(1)
    await writeFile(path, FILE(0.1))
    await hf.policies.put({ id: 'fetch', circuitBreaker: 'notion' })
    await writeFile(path, FILE(0.1, ''))
    await expect(hf.config.reload()).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    said.mockRestore()
  })

  it('do not keep the runtime from opening: the change is left out, loudly', async () => {
    const said = vi.spyOn(console, 'error').mockImplementation(() => {})
    const dir = await folder({ 'holdfast.yaml': FILE(0.1) })
    await mkdir(join(dir, 'data'))
    const path = join(dir, 'holdfast.yaml')
    const store = `sqlite:${join(dir, 'h.db')}`
    const first = await start(path, { watch: false, store })
    await first.hf.policies.put({ id: 'fetch', circuitBreaker: 'notion' })
    await first.hf.close()
    await writeFile(path, FILE(0.1, ''))
    const { hf } = await start(path, { watch: false, store })
    expect(await hf.health()).toMatchObject({ status: 'degraded' })
    expect(await hf.run('fetch', async () => 1)).toBe(1)
    expect(said.mock.calls.flat().join()).toMatch(/do not go with the file/)
    await hf.config.clear()
    said.mockRestore()
  })
})

describe('members of pools', () => {
  it('that change in weight or threshold stay open, and stay drained', async () => {
    const FILE = (weight: number, threshold: number) => `version: "1.1.0"
store: memory
pools:
  p:
    members:
      - { id: a, url: "http://127.0.0.1:1", weight: ${weight}, circuit_breaker: { failure_threshold: ${threshold} } }
      - { id: b, url: "http://127.0.0.1:2", weight: ${weight} }
`
    const dir = await folder({ 'holdfast.yaml': FILE(1, 3) })
    const path = join(dir, 'holdfast.yaml')
    const { hf } = await start(path, { watch: false })
    hf.pools.get('p').breaker('a').trip()
    hf.pools.get('p').drain('b')
    await writeFile(path, FILE(2, 4))
    await hf.config.reload()
    const pool = hf.pools.get('p')
    expect(pool.breaker('a').state).toBe('open')
    expect(pool.status('b')).toBe('drained')
    expect(pool.members().map(({ weight }) => weight)).toEqual([2, 2])
  })
})

describe('opening', () => {
  it('refuses options that it does not know', async () => {
    const { Holdfast } = await import('../../src/index.js')
    await expect(Holdfast.open({ confg: {} } as never)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
    await expect(Holdfast.open(5 as never)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })
})

describe('a purge by a word that is misspelt', () => {
  it('is refused, and takes nothing', async () => {
    const { hf } = await start({})
    await hf.deadLetters.enqueue({ operation: 'w', itemId: 'a', payload: 1, error: new Error('no') })
    await expect(hf.deadLetters.purge({ stauts: 'completed' } as object, { by: 'me' })).rejects.toMatchObject(
      {
        code: 'INVALID_OPTIONS',
        message: expect.stringContaining('stauts'),
      },
    )
    expect((await hf.deadLetters.list()).items).toHaveLength(1)
  })
})

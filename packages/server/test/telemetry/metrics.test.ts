import { spawnSync } from 'node:child_process'
import { Holdfast } from '@holdfast/runtime'
import { formatExposition, METRICS, type MetricsReading } from '@holdfast/runtime/internal'
import { OpenAPIHono } from '@hono/zod-openapi'
import fc from 'fast-check'
import { fakeClock, seededRandom } from 'holdfast/testing'
import { afterEach, describe, expect, it } from 'vitest'
import { authenticate } from '../../src/auth/authenticate.js'
import { createToken } from '../../src/auth/tokens.js'
import type { Env } from '../../src/http/env.js'
import { parseAppOptions } from '../../src/options.js'
import { LOCAL } from '../../src/roles.js'
import { addMetrics } from '../../src/telemetry/route.js'
import { parse, type Scraped } from './parser.js'

const CONFIG = {
  policies: {
    quick: { maxAttempts: 3, backoffType: 'immediate' },
    guarded: { maxAttempts: 1, enableCircuitBreaker: true, circuitBreakerThreshold: 1 },
    thrifty: {
      maxAttempts: 3,
      backoffType: 'immediate',
      budget: { ratio: 0, reservePerSecond: 0.1, window: 10_000 },
    },
  },
  circuitBreakers: { notion: { failureThreshold: 1 } },
  pools: {
    proxies: {
      members: [
        { id: 'p1', url: 'http://ann:hunter2@127.0.0.1:9001' },
        { id: 'p2', url: 'http://127.0.0.1:9002' },
      ],
    },
  },
}

/** Prometheus' own reader, where it is installed; the strict one beside this file is there always. */
const PROMTOOL = 'promtool'
const promtool = spawnSync(PROMTOOL, ['--version']).status === 0

const opened: (() => unknown)[] = []

afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close()
})

async function open(config: object = CONFIG) {
  const clock = fakeClock({ wall: Date.UTC(2026, 0, 29, 12) })
  const hf = await Holdfast.open({ config, clock, random: seededRandom(1), env: {} })
  const app = new OpenAPIHono<Env>()
  app.onError((error, c) => c.text(error.message, 'status' in error ? (error.status as 401) : 500))
  const settings = parseAppOptions({ clock })
  opened.push(() => hf.close(), addMetrics(app, hf, settings, authenticate(hf, settings, LOCAL)))
  const ask = (headers: Record<string, string> = {}) => app.request('http://localhost/metrics', { headers })
  const scrape = async (): Promise<Scraped> => parse(await (await ask()).text())
  return { hf, clock, ask, scrape }
}

const down = () => Promise.reject(new Error('down'))

describe('a process of a fleet', () => {
  it('exports fleet metrics, which are absent without a fleet', async () => {
    const { hf, scrape } = await open()
    const shared = (found: Scraped) =>
      found.samples
        .filter(({ name }) => /_(shared_state|fleet)_/.test(name))
        .map(({ name, value }) => [name, value])
    expect(shared(await scrape())).toEqual([])
    const status = { node: 'a', up: false, losses: 2, nodes: 1, commands: 70, eventsDropped: 3 }
    Object.defineProperty(hf, 'fleet', { value: { status: () => status }, configurable: true })
    expect(shared(await scrape())).toEqual([
      ['holdfast_shared_state_up', 0],
      ['holdfast_shared_state_losses_total', 2],
      ['holdfast_shared_state_commands_total', 70],
      ['holdfast_fleet_nodes', 1],
      ['holdfast_fleet_events_dropped_total', 3],
    ])
    Reflect.deleteProperty(hf, 'fleet')
  })
})

describe('/metrics', () => {
  it('counts calls by result and whether they were retried, and retries', async () => {
    const { hf, scrape } = await open()
    await hf.run('quick', () => 1)
    await hf.run('quick', () => 1)
    let calls = 0
    await hf.run('quick', () => (++calls < 3 ? down() : 1))
    await hf.run('quick', down).catch(() => {})
    await hf.run('guarded', down).catch(() => {})
    const { value } = await scrape()
    const total = (operation: string, result: string, retried: boolean) =>
      value('holdfast_calls_total', { operation, result, retried: String(retried) })
    expect(total('quick', 'success', false)).toBe(2)
    expect(total('quick', 'success', true)).toBe(1)
    expect(total('quick', 'failure', true)).toBe(1)
    expect(total('guarded', 'failure', false)).toBe(1)
    expect(value('holdfast_retries_total', { operation: 'quick' })).toBe(4)
  })

  it('times calls and attempts in seconds', async () => {
    const { hf, clock, scrape } = await open()
    const slow = () => new Promise((resolve) => clock.setTimer(() => resolve(1), 300))
    const call = hf.run('quick', slow)
    await clock.advance(300)
    await call
    const { value } = await scrape()
    expect(value('holdfast_call_duration_seconds_sum', { operation: 'quick' })).toBeCloseTo(0.3)
    expect(value('holdfast_call_duration_seconds_bucket', { operation: 'quick', le: '0.25' })).toBe(0)
    expect(value('holdfast_attempt_duration_seconds_bucket', { operation: 'quick', le: '0.5' })).toBe(1)
  })

  it('exports the states of breakers and their transitions', async () => {
    const { hf, scrape } = await open()
    await hf.run('guarded', down).catch(() => {})
    const { value } = await scrape()
    expect(value('holdfast_circuit_breaker_state', { id: 'policy:guarded' })).toBe(2)
    expect(value('holdfast_circuit_breaker_state', { id: 'service:notion' })).toBe(0)
    expect(value('holdfast_circuit_breaker_transitions_total', { id: 'policy:guarded', to: 'open' })).toBe(1)
  })

  it('exports the open ratio of a pool', async () => {
    const { hf, scrape } = await open()
    await hf.breakers.trip('pool:proxies:p1')
    const { value } = await scrape()
    expect(value('holdfast_pool_open_ratio', { pool: 'proxies' })).toBe(0.5)
    expect(value('holdfast_pool_members', { pool: 'proxies', status: 'open' })).toBe(1)
    expect(value('holdfast_pool_members', { pool: 'proxies', status: 'available' })).toBe(1)
  })

  it('counts dead letters by status and exports the age of the oldest', async () => {
    const { hf, clock, scrape } = await open()
    expect((await scrape()).value('holdfast_dead_letters_oldest_age_seconds')).toBe(0)
    await hf.deadLetters.enqueue({ operation: 'save', itemId: '1', payload: 1, error: new Error('down') })
    await clock.advance(90_000)
    const { value } = await scrape()
    expect(value('holdfast_dead_letters', { operation: 'save', status: 'pending' })).toBe(1)
    expect(value('holdfast_dead_letters', { operation: 'save', status: 'failed' })).toBe(0)
    expect(value('holdfast_dead_letters_oldest_age_seconds')).toBe(90)
  })

  it('counts calls that ended because the retry budget was exhausted', async () => {
    const { hf, scrape } = await open()
    for (let i = 0; i < 3; i++) await hf.run('thrifty', down).catch(() => {})
    expect((await scrape()).value('holdfast_retry_budget_spent_total', { policy: 'thrifty' })).toBe(3)
  })

  it('exports 0 for known series without events, so that the first event is an increase', async () => {
    const { hf, scrape } = await open()
    const { value, samples } = await scrape()
    expect(value('holdfast_retry_budget_spent_total', { policy: 'thrifty' })).toBe(0)
    expect(value('holdfast_retry_budget_spent_total', { policy: 'quick' })).toBeUndefined()
    for (const id of ['policy:guarded', 'service:notion'])
      for (const to of ['closed', 'half_open', 'open'])
        expect(value('holdfast_circuit_breaker_transitions_total', { id, to })).toBe(0)
    await hf.breakers.trip('service:notion')
    await hf.run('thrifty', down).catch(() => {})
    const after = await scrape()
    expect(after.samples.filter(({ name }) => /transitions|spent/.test(name))).toHaveLength(
      samples.filter(({ name }) => /transitions|spent/.test(name)).length,
    )
    expect(
      after.value('holdfast_circuit_breaker_transitions_total', { id: 'service:notion', to: 'open' }),
    ).toBe(1)
  })

  it('limits the number of series with the value 0', async () => {
    const many = (count: number, one: object) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, one]))
    const { scrape } = await open({
      policies: many(300, { budget: { ratio: 0.2, reservePerSecond: 1, window: 10_000 } }),
      circuitBreakers: many(600, {}),
    })
    const { samples } = await scrape()
    const count = (wanted: string) => samples.filter(({ name }) => name === wanted).length
    expect(count('holdfast_retry_budget_spent_total')).toBe(200)
    expect(count('holdfast_circuit_breaker_transitions_total')).toBe(1500)
  })

  it('counts changes of the configuration', async () => {
    const { hf, scrape } = await open()
    await hf.policies.put({ id: 'quick', maxAttempts: 2 })
    const { value } = await scrape()
    expect(value('holdfast_config_reloads_total', { result: 'taken' })).toBe(1)
    expect(value('holdfast_config_reloads_total', { result: 'rejected' })).toBe(0)
  })

  it('exports the delay of the event loop', async () => {
    const { scrape } = await open()
    const { samples } = await scrape()
    const delays = samples.filter(({ name }) => name === 'holdfast_event_loop_delay_seconds')
    expect(delays.map(({ labels }) => labels.percentile)).toEqual(['50', '90', '99', '100'])
    for (const { value } of delays) expect(value).toBeGreaterThanOrEqual(0)
  })

  it('limits the number of series', async () => {
    const { hf, scrape } = await open()
    const rooms = async () => (await scrape()).samples.length
    for (let i = 0; i < 300; i++) {
      await hf.run(`operation ${i}`, () => 1)
      await hf.deadLetters.enqueue({ operation: `o${i}`, itemId: '1', payload: i, error: new Error('down') })
    }
    const before = await rooms()
    for (let i = 300; i < 600; i++) {
      await hf.run(`operation ${i}`, () => 1)
      await hf.deadLetters.enqueue({ operation: `o${i}`, itemId: '1', payload: i, error: new Error('down') })
    }
    expect(await rooms()).toBe(before)
    const { samples, value } = await scrape()
    const all = samples.filter(({ name }) => name === 'holdfast_calls_total')
    expect(all.reduce((sum, one) => sum + one.value, 0)).toBe(600)
    expect(value('holdfast_dead_letters', { operation: 'other', status: 'pending' })).toBe(500)
  })

  it('lists every metric, including those without samples', async () => {
    const { scrape } = await open()
    const { types, samples } = await scrape()
    expect(Object.fromEntries(types)).toEqual(
      Object.fromEntries(Object.entries(METRICS).map(([name, { type }]) => [name, type])),
    )
    for (const { name, labels } of samples) {
      const family = (
        name in METRICS ? name : name.replace(/_(bucket|sum|count)$/, '')
      ) as keyof typeof METRICS
      const known = [...METRICS[family].labels, ...(name.endsWith('_bucket') ? ['le'] : [])]
      expect(Object.keys(labels).toSorted(), name).toEqual(known.toSorted())
    }
  })

  it('requires a token if one exists', async () => {
    const { hf, ask } = await open()
    const { token } = await createToken(hf, { name: 'prometheus', role: 'viewer' })
    expect((await ask()).status).not.toBe(200)
    expect((await ask({ authorization: `Bearer ${token}` })).status).toBe(200)
  })

  it.skipIf(!promtool)('is accepted by promtool', async () => {
    const { hf, ask } = await open()
    await hf.run('quick', down).catch(() => {})
    await hf.deadLetters.enqueue({ operation: 'save', itemId: '1', payload: 1, error: new Error('down') })
    const input = await (await ask()).text()
    const { status, stderr } = spawnSync(PROMTOOL, ['check', 'metrics'], { input })
    expect([status, stderr.toString()]).toEqual([0, ''])
  })

  it('shows no secret', async () => {
    const { ask } = await open()
    expect(await (await ask()).text()).not.toContain('hunter2')
  })
})

describe('the exposition', () => {
  it('is parsed back to the same samples for any label', async () => {
    const names = Object.entries(METRICS).filter(([, { type }]) => type !== 'histogram')
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.string({ unit: 'binary' })), fc.double(), async (labels, value) => {
        const distinct = [...new Set(labels)]
        const reading = {
          numbers: Object.fromEntries(
            names.map(([name]) => [
              name,
              name === 'holdfast_retries_total'
                ? distinct.map((operation) => ({ labels: { operation }, value }))
                : [],
            ]),
          ),
          durations: { holdfast_call_duration_seconds: [], holdfast_attempt_duration_seconds: [] },
        } as unknown as MetricsReading
        const { samples } = parse(await formatExposition(reading))
        expect(samples.map((sample) => sample.labels.operation)).toEqual(distinct)
        for (const sample of samples) expect(sample.value).toBe(Object.is(value, -0) ? 0 : value)
      }),
    )
  })
})

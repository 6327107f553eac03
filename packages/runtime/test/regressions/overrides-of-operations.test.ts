import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isHoldfastError } from 'holdfast'
import { configureDecorators, Retry } from 'holdfast/decorators'
import { describe, expect, it, onTestFinished } from 'vitest'
import { decoratorOverrides } from '../../../config/src/resolve/overrides.js'
import { checkConfig, type Holdfast } from '../../src/index.js'
import { folder, refused, start, timeout } from '../holdfast/setup.js'

/** A policy that retries at once, so that attempts can be counted without a clock. */
const QUICK = { maxAttempts: 4, backoffType: 'immediate' } as const

/** How many attempts a call of an operation makes that always fails. */
async function attempts(hf: Holdfast, operation: string, options?: object, error: () => unknown = refused) {
  let count = 0
  await hf
    .run(
      operation,
      () => {
        count++
        throw error()
      },
      options,
    )
    .catch(() => {})
  return count
}

const valuesOf = async (hf: Holdfast, operation: string) =>
  (await hf.config.explain(operation)).policies[0]?.values

describe('overrides in the config file', () => {
  it('disable the retries of every operation', async () => {
    const { hf } = await start({
      policies: { fetch: QUICK, default: QUICK },
      overrides: { 'Retry/enabled': false },
    })
    expect(await attempts(hf, 'fetch')).toBe(1)
    expect(await attempts(hf, 'mail.send')).toBe(1)
    expect((await valuesOf(hf, 'fetch'))?.maxAttempts).toEqual({ value: 1, origin: 'overrides' })
  })

  it('apply by subsystem and operation as by class and method, the most specific first', async () => {
    const { hf } = await start({
      policies: { default: QUICK, fetch: QUICK },
      overrides: {
        'Retry/maxRetries': 1,
        'mail/Retry/maxRetries': 2,
        'mail/send/Retry/maxRetries': 5,
        'fetch/Retry/maxRetries': 0,
      },
    })
    expect(await attempts(hf, 'other.thing')).toBe(2)
    expect(await attempts(hf, 'mail.read')).toBe(3)
    expect(await attempts(hf, 'mail.send')).toBe(6)
    expect(await attempts(hf, 'mail.send.timeout')).toBe(6)
    expect(await attempts(hf, 'mail')).toBe(3)
    expect(await attempts(hf, 'fetch')).toBe(1)
  })

  it('map every setting of Retry and Timeout to a field of the policy, and explain shows the origin of each', async () => {
    const dir = await folder({
      'hf.yaml': `version: "1.2.0"
policies: { fetch: { max_attempts: 2, retry_status_codes: [503] } }
overrides:
  Retry/maxRetries: 4
  fetch/Retry/delay: 2s
  fetch/Retry/maxDelay: 8000
  fetch/Retry/maxDuration: 1m
  fetch/Retry/jitter: 100
  fetch/Retry/retryOn: [timeout]
  fetch/Retry/abortOn: [auth]
  fetch/Timeout/value: 5s
`,
    })
    const { hf } = await start(join(dir, 'hf.yaml'), { watch: false, store: 'memory' })
    const at = (line: number, column: number) => ({
      origin: 'overrides',
      where: `${join(dir, 'hf.yaml')}:${line}:${column}`,
    })
    const values = await valuesOf(hf, 'fetch')
    expect(values).toMatchObject({
      maxAttempts: { value: 5, ...at(4, 21) },
      baseDelay: { value: 2000, ...at(5, 22) },
      maxDelay: { value: 8000, ...at(6, 25) },
      totalTimeout: { value: 60_000, ...at(7, 28) },
      jitterType: { value: 'additive', ...at(8, 23) },
      jitterMax: { value: 100, ...at(8, 23) },
      retryableExceptions: { value: ['timeout'], ...at(9, 24) },
      retryStatusCodes: { value: null, ...at(9, 24) },
      abortExceptions: { value: ['auth'], ...at(10, 24) },
      attemptTimeout: { value: 5000, ...at(11, 24) },
    })
    expect(
      (await hf.config.explain('fetch')).policies[0]?.schedule.waits.map(({ base, max }) => [
        base,
        Math.round(max),
      ]),
    ).toEqual([
      [2000, 2100],
      [4000, 4100],
      [8000, 8000],
      [8000, 8000],
    ])
  })

  it('decide which errors are retried', async () => {
    const { hf } = await start({
      policies: { fetch: { ...QUICK, retryStatusCodes: [503] } },
      overrides: { 'fetch/Retry/retryOn': ['timeout'], 'fetch/Retry/abortOn': ['ECONNREFUSED'] },
    })
    expect(await attempts(hf, 'fetch', {}, timeout)).toBe(4)
    expect(await attempts(hf, 'fetch', {}, refused)).toBe(1)
    expect(await attempts(hf, 'fetch', {}, () => Object.assign(new Error('503'), { status: 503 }))).toBe(1)
  })

  it('end attempts and calls that take too long', async () => {
    const { hf, clock } = await start({
      policies: { slow: { maxAttempts: 1 }, long: { maxAttempts: 1, attemptTimeout: 10 } },
      overrides: { 'slow/Timeout/value': 50, 'long/Timeout/enabled': false, 'long/Retry/maxDuration': 200 },
    })
    const never = () => new Promise(() => {})
    const slow = hf.run('slow', never).catch((error: unknown) => error)
    const long = hf.run('long', never).catch((error: unknown) => error)
    await clock.advance(60)
    expect(isHoldfastError(await slow, 'ATTEMPT_TIMEOUT')).toBe(true)
    await clock.advance(200)
    expect(isHoldfastError(await long, 'TOTAL_TIMEOUT')).toBe(true)
  })

  it('limit concurrent calls separately from other operations of the same policy', async () => {
    const { hf } = await start({
      policies: { default: { maxAttempts: 1 } },
      overrides: { 'mail/send/Bulkhead/value': 1 },
    })
    const done: (() => void)[] = []
    const held = () => new Promise<void>((resolve) => void done.push(resolve))
    const first = hf.run('mail.send', held)
    const error = await hf.run('mail.send', held).catch((thrown: unknown) => thrown)
    expect(isHoldfastError(error, 'BULKHEAD_FULL')).toBe(true)
    const others = [hf.run('mail.read', held), hf.run('mail.read', held)]
    for (const end of done) end()
    await Promise.all([first, ...others])
    expect((await valuesOf(hf, 'mail.send'))?.bulkhead).toEqual({
      value: { limit: 1, queue: 0 },
      origin: 'overrides',
    })
  })

  it('disable a bulkhead, and change its queue', async () => {
    const { hf } = await start({
      policies: { a: { bulkhead: { limit: 1 } }, b: { bulkhead: { limit: 1 } }, c: {} },
      overrides: {
        'a/Bulkhead/enabled': false,
        'b/Bulkhead/waitingTaskQueue': 3,
        'c/Bulkhead/waitingTaskQueue': 3,
      },
    })
    expect((await valuesOf(hf, 'a'))?.bulkhead).toMatchObject({ value: null })
    expect((await valuesOf(hf, 'b'))?.bulkhead).toMatchObject({ value: { limit: 1, queue: 3 } })
    expect((await valuesOf(hf, 'c'))?.bulkhead).toBeUndefined()
    expect((await hf.config.explain('c')).notes).toEqual([
      'overrides["c/Bulkhead/waitingTaskQueue"] has no effect: the policy c has no bulkhead, and Bulkhead/value gives it none',
    ])
  })

  it('change the breaker of a policy with its own breaker', async () => {
    const { hf } = await start({
      policies: { fetch: { maxAttempts: 1, enableCircuitBreaker: true } },
      overrides: { 'fetch/CircuitBreaker/failureThreshold': 2, 'CircuitBreaker/delay': '3s' },
    })
    await attempts(hf, 'fetch')
    await attempts(hf, 'fetch')
    expect(await attempts(hf, 'fetch')).toBe(0)
    const [breaker] = await hf.breakers.list()
    expect(breaker).toMatchObject({
      id: 'policy:fetch',
      state: 'open',
      failureThreshold: 2,
      windowType: 'consecutive',
      timeoutDuration: 3000,
    })
    expect(await valuesOf(hf, 'fetch')).toMatchObject({
      circuitBreakerThreshold: { value: 2, origin: 'overrides' },
      circuitBreakerTimeout: { value: 3000, origin: 'overrides' },
    })
  })

  it('give the breaker of a policy a failure rate, which explain shows', async () => {
    const { hf } = await start({
      policies: { p: { maxAttempts: 1, enableCircuitBreaker: true } },
      subsystemMappings: { mail: { send: { default: 'p' } } },
      overrides: {
        'mail/send/CircuitBreaker/failureRatio': 0.5,
        'mail/send/CircuitBreaker/requestVolumeThreshold': 4,
      },
    })
    for (let i = 0; i < 2; i++) await hf.run('mail.send', () => 1)
    for (let i = 0; i < 2; i++) await attempts(hf, 'mail.send')
    expect(await attempts(hf, 'mail.send')).toBe(0)
    expect((await hf.config.explain('mail.send')).notes).toEqual([
      'the breaker policy:p has minimumCalls 4 by overrides["mail/send/CircuitBreaker/requestVolumeThreshold"]',
      'the breaker policy:p has failureRate 0.5 by overrides["mail/send/CircuitBreaker/failureRatio"]',
    ])
  })

  it('disable the breaker of the policy for the calls of an operation', async () => {
    const { hf } = await start({
      policies: { default: { maxAttempts: 1, enableCircuitBreaker: true, circuitBreakerThreshold: 1 } },
      overrides: { 'mail/send/CircuitBreaker/enabled': false },
    })
    for (let i = 0; i < 3; i++) expect(await attempts(hf, 'mail.send')).toBe(1)
    await attempts(hf, 'mail.read')
    expect(await attempts(hf, 'mail.read')).toBe(0)
    expect((await hf.config.explain('mail.send')).policies[0]?.breaker).toBeUndefined()
  })

  it('of breakers cause a note in explain if the policy has no breaker of its own', async () => {
    const { hf } = await start({
      policies: { a: {}, b: { circuitBreaker: 'notion' } },
      circuitBreakers: { notion: {} },
      overrides: { 'CircuitBreaker/failureThreshold': 2 },
    })
    for (const id of ['a', 'b'])
      expect((await hf.config.explain(id)).notes).toEqual([
        `overrides["CircuitBreaker/failureThreshold"] has no effect: the policy ${id} has no circuit breaker of its own`,
      ])
  })

  it('apply to guards, to policies of pools, and to policies in the options of a call', async () => {
    const { hf } = await start({
      policies: { p: QUICK },
      pools: { proxies: { policy: 'p', members: [{ id: 'a', url: 'http://127.0.0.1:1' }] } },
      overrides: { 'job/Retry/maxRetries': 1 },
    })
    expect(await attempts(hf, 'job', { pool: 'proxies' })).toBe(2)
    expect(await attempts(hf, 'job', { policy: 'p' })).toBe(2)
    expect(await attempts(hf, 'job', { policy: { id: 'p' } })).toBe(2)
    expect(await attempts(hf, 'job', { policy: { id: 'p', maxAttempts: 3 } })).toBe(3)
    let count = 0
    const guard = hf.guard('job', { policy: 'p' })
    const counted = () => {
      count++
      throw refused()
    }
    await guard.run(counted).catch(() => {})
    expect(count).toBe(2)
  })

  it('apply to the policy of each error kind', async () => {
    const { hf } = await start({
      policies: { slow: QUICK, other: QUICK },
      subsystemMappings: { mail: { send: { timeout: 'slow', default: 'other' } } },
      overrides: { 'mail/send/Retry/maxRetries': 1 },
    })
    expect(await attempts(hf, 'mail.send', {}, timeout)).toBe(2)
    expect(await attempts(hf, 'mail.send', {}, refused)).toBe(2)
  })

  it('apply after a reload of the file', async () => {
    const text = (retries: number) =>
      `version: "1.2.0"\npolicies: { fetch: { backoff_type: immediate, enable_circuit_breaker: true } }\noverrides: { fetch/Retry/maxRetries: ${retries}, fetch/CircuitBreaker/failureThreshold: ${retries + 50} }\n`
    const dir = await folder({ 'hf.yaml': text(1) })
    const { hf } = await start(join(dir, 'hf.yaml'), { watch: false, store: 'memory' })
    expect(await attempts(hf, 'fetch')).toBe(2)
    await writeFile(join(dir, 'hf.yaml'), text(4))
    await hf.config.reload({ by: 'test' })
    expect(await attempts(hf, 'fetch')).toBe(5)
    expect((await hf.breakers.get('policy:fetch'))?.failureThreshold).toBe(54)
  })
})

describe('overrides in the environment', () => {
  it('are ordered by specificity first, and win over the file only for the same key', async () => {
    const { hf } = await start(
      {
        policies: { default: QUICK },
        overrides: { 'Retry/maxRetries': 5, 'mail/Retry/maxRetries': 4, 'mail/send/Retry/maxRetries': 3 },
      },
      { env: { RETRY_MAXRETRIES: '0', MAIL_RETRY_MAXRETRIES: '1' } },
    )
    expect(await attempts(hf, 'other.thing')).toBe(1)
    expect(await attempts(hf, 'mail.read')).toBe(2)
    expect(await attempts(hf, 'mail.send')).toBe(4)
    expect((await valuesOf(hf, 'mail.send'))?.maxAttempts).toMatchObject({ value: 4, origin: 'overrides' })
  })

  it('of decorated methods are ordered in the same way', async () => {
    const overrides = { 'Mail/Retry/maxRetries': 4, 'Mail/send/Retry/maxRetries': 3 }
    const env = { RETRY_MAXRETRIES: '0', MAIL_RETRY_MAXRETRIES: '1' }
    const methods = ['send', 'read'].map((method) => ({ owner: 'Mail', method }))
    expect(decoratorOverrides(overrides, env, methods)).toEqual({
      'Retry/maxRetries': 0,
      'Mail/Retry/maxRetries': 1,
      'Mail/send/Retry/maxRetries': 3,
    })
  })

  it('win over those of the file for the same key, and lose against more specific ones', async () => {
    const { hf } = await start(
      { policies: { default: QUICK }, overrides: { 'Retry/maxRetries': 9, 'mail/send/Retry/maxRetries': 2 } },
      { env: { RETRY_MAXRETRIES: '1', MAIL_READ_RETRY_MAXRETRIES: '6' } },
    )
    expect(await attempts(hf, 'other.thing')).toBe(2)
    expect(await attempts(hf, 'mail.send')).toBe(3)
    expect(await attempts(hf, 'mail.read')).toBe(7)
    expect((await valuesOf(hf, 'mail.read'))?.maxAttempts).toEqual({
      value: 7,
      origin: 'environment',
      where: 'MAIL_READ_RETRY_MAXRETRIES',
    })
  })

  it('change the breaker of a policy whose operations the config names', async () => {
    const { hf } = await start(
      { policies: { 'my-fetch': { maxAttempts: 1, enableCircuitBreaker: true } } },
      { env: { MY_FETCH_CIRCUITBREAKER_FAILURETHRESHOLD: '1' } },
    )
    await attempts(hf, 'my-fetch')
    expect(await attempts(hf, 'my-fetch')).toBe(0)
  })

  it('that are not valid cause an error of the config for a known operation, else of the call', async () => {
    const { problems } = checkConfig('version: "1.2.0"\npolicies: { fetch: {} }', {
      env: { FETCH_RETRY_MAXRETRIES: 'many', TIMEOUT_VALUE: 'soon' },
    })
    expect(problems.map(({ path }) => path).toSorted()).toEqual(['FETCH_RETRY_MAXRETRIES', 'TIMEOUT_VALUE'])
    const { hf } = await start({}, { env: { MAIL_SEND_RETRY_MAXRETRIES: 'many' } })
    const error = await hf.run('mail.send', () => 1).catch((thrown: unknown) => thrown)
    expect(isHoldfastError(error, 'INVALID_OPTIONS')).toBe(true)
    expect((error as Error).message).toContain('MAIL_SEND_RETRY_MAXRETRIES')
    expect(await hf.run('mail.read', () => 1)).toBe(1)
  })
})

describe('configuration layers', () => {
  it('put overrides above the policy, and below its variables and live changes', async () => {
    const { hf } = await start(
      { policies: { a: QUICK, b: QUICK, c: QUICK }, overrides: { 'Retry/maxRetries': 1 } },
      { env: { HOLDFAST_POLICIES_B_MAX_ATTEMPTS: '7' } },
    )
    await hf.policies.put({ id: 'c', maxAttempts: 6 }, { by: 'ops' })
    expect(await attempts(hf, 'a')).toBe(2)
    expect(await attempts(hf, 'b')).toBe(7)
    expect(await attempts(hf, 'c')).toBe(6)
    expect((await hf.config.explain('b')).notes).toEqual([
      'overrides["Retry/maxRetries"] has no effect: maxAttempts of the policy b comes from HOLDFAST_POLICIES_B_MAX_ATTEMPTS',
    ])
    expect((await hf.config.explain('c')).notes.join()).toContain(
      'maxAttempts of the policy c comes from api',
    )
  })
})

describe('a config with conflicting overrides', () => {
  it.each([
    [{ 'Fallback/enabled': false }, 'a config cannot override fallbacks'],
    [{ 'mail/send/Fallback/applyOn': ['timeout'] }, 'a config cannot override fallbacks'],
    [{ 'mail/Retry/maxRetris': 1 }, 'did you mean maxRetries?'],
    [
      { 'fetch/Retry/delay': '40s' },
      'expected maxDelay of the policy fetch to be at least baseDelay (40000 ms), got 30000 ms',
    ],
    [
      { 'fetch/Retry/maxDelay': 10 },
      'expected maxDelay of the policy fetch to be at least baseDelay (100 ms), got 10 ms',
    ],
    [{ 'fetch/CircuitBreaker/slowCallRate': 0.5 }, 'slowCallDuration'],
  ])('is rejected: %j', async (overrides, message) => {
    const opened = start({ policies: { fetch: { baseDelay: 100, enableCircuitBreaker: true } }, overrides })
    await expect(opened).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(message),
    })
  })

  it('is accepted if the maximum of an override is below a default first delay', async () => {
    const { hf } = await start({ policies: { fetch: {} }, overrides: { 'fetch/Retry/maxDelay': 10 } })
    expect((await valuesOf(hf, 'fetch'))?.baseDelay).toMatchObject({ value: 10 })
  })
})

it('overrides of decorated methods apply as before', async () => {
  class Graph {
    calls = 0

    @Retry({ maxRetries: 1, jitter: 0 })
    async save(): Promise<void> {
      this.calls++
      throw refused()
    }
  }
  const { hf } = await start(
    { overrides: { 'Graph/save/Retry/maxRetries': 3 } },
    { env: { GRAPH_RETRY_DELAY: '0' } },
  )
  configureDecorators({ runtime: hf })
  onTestFinished(() => configureDecorators())
  expect((await hf.config.explain('default')).notes).toEqual([
    'overrides name Graph/save, of which no decorated method is known yet',
  ])
  const graph = new Graph()
  await graph.save().catch(() => {})
  expect(graph.calls).toBe(4)
  expect((await hf.config.explain('default')).notes).toEqual([])
})

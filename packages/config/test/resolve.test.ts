import fc from 'fast-check'
import { expect, test } from 'vitest'
import { policySchema, type RetryPolicy } from '../../records/src/policy.js'
import { explain } from '../src/explain/explain.js'
import { computeSchedule } from '../src/explain/schedule.js'
import { resolveOperation } from '../src/resolve/operations.js'
import { POLICY_DEFAULTS } from '../src/resolve/resolve-policy.js'
import { BUILT_IN_POLICIES } from '../src/schema/built-in-policies.js'
import { defaultsSchema, policyEntrySchema } from '../src/schema/policy.js'
import { resolved } from './read.js'

test('a file knows every field of a policy', () => {
  const { schema: _, ...fields } = policySchema.shape
  expect(Object.keys(policyEntrySchema.shape).toSorted()).toEqual(Object.keys(fields).toSorted())
})

test('a policy that says nothing has the defaults of the engine', () => {
  expect(resolved('').policies.get('default')?.policy).toEqual({
    id: 'default',
    name: 'Default',
    description: 'For operations that have no other policy.',
    enabled: true,
    maxAttempts: 3,
    backoffType: 'exponential',
    baseDelay: 1000,
    multiplier: 2,
    maxDelay: 30_000,
    jitterType: 'none',
    jitterAmount: 0.1,
    jitterMin: 0,
    jitterMax: 0,
    respectRetryAfter: true,
    maxRetryAfter: 60_000,
    retryNonIdempotent: false,
    enableCircuitBreaker: false,
    circuitBreakerThreshold: 5,
    circuitBreakerTimeout: 60_000,
    deadLetter: true,
    shadow: false,
  })
})

test('built-in policies exist, and a policy of the file replaces one completely', () => {
  expect(Object.keys(BUILT_IN_POLICIES)).toEqual([
    'default',
    'default_exponential_backoff',
    'aggressive_retry',
    'conservative_retry',
    'linear_backoff',
    'rate_limited',
  ])
  const config = resolved('policies: { rate_limited: { max_attempts: 2 } }')
  expect(config.policies.get('rate_limited')?.policy).toMatchObject({
    maxAttempts: 2,
    jitterType: 'none',
    baseDelay: 1000,
  })
  expect(config.policies.get('aggressive_retry')?.policy).toMatchObject({
    jitterType: 'full',
    jitterAmount: 1,
  })
})

test('each layer wins over those below it, and every value tells where it comes from', () => {
  const config = resolved(
    'global_defaults: { max_attempts: 4, multiplier: 3 }\npolicies:\n  a: { multiplier: 5, jitter_max: 2 }',
    {
      policies: { a: { jitter_max: 1 }, mine: { name: 'Mine' } },
    },
  )
  const { policy, origins } = config.policies.get('a') ?? {}
  expect(policy).toMatchObject({ maxAttempts: 4, multiplier: 5, jitterMax: 1000, baseDelay: 1000 })
  expect(origins).toMatchObject({
    baseDelay: { origin: 'built-in' },
    maxAttempts: { origin: 'global_defaults', where: 'hf.yaml:2:34' },
    multiplier: { origin: 'policy', where: 'hf.yaml:4:20' },
    jitterMax: { origin: 'api' },
  })
  expect(config.policies.get('mine')?.policy.name).toBe('Mine')
})

test('null and endless timeouts take away a limit of the defaults', () => {
  const config = resolved(
    'global_defaults: { total_timeout: 60, attempt_timeout: 5 }\npolicies: { a: { total_timeout: .inf, attempt_timeout: null } }',
  )
  expect(config.policies.get('a')?.policy).not.toHaveProperty('totalTimeout')
  expect(config.policies.get('a')?.policy).not.toHaveProperty('attemptTimeout')
  expect(config.policies.get('default')?.policy.totalTimeout).toBe(60_000)
})

test('parts of a policy are filled in', () => {
  const config = resolved('policies: { a: { bulkhead: { limit: 2 }, hedge: { delay: 1 }, budget: {} } }')
  expect(config.policies.get('a')?.policy).toMatchObject({
    bulkhead: { limit: 2, queue: 0 },
    hedge: { delay: 1000, max: 1 },
    budget: { ratio: 0.2, reservePerSecond: 10, window: 10_000 },
  })
})

const field = fc.record(
  {
    maxAttempts: fc.integer({ min: 1, max: 9 }),
    multiplier: fc.integer({ min: 1, max: 9 }),
    shadow: fc.boolean(),
    jitterAmount: fc.constantFrom(0, 0.5, 1),
  },
  { requiredKeys: [] },
)
const WIRE = {
  maxAttempts: 'max_attempts',
  multiplier: 'multiplier',
  shadow: 'shadow',
  jitterAmount: 'jitter_amount',
} as const
type Fields = Partial<Record<keyof typeof WIRE, unknown>>
const wire = (fields: Fields): object =>
  Object.fromEntries(Object.entries(fields).map(([key, value]) => [WIRE[key as keyof typeof WIRE], value]))

test('the origin of a value is the last layer that gave it, whatever the layers', () => {
  fc.assert(
    fc.property(field, field, field, (defaults, own, api) => {
      const body = `global_defaults: ${JSON.stringify(wire(defaults))}\npolicies: { a: ${JSON.stringify(wire(own))} }`
      const found = resolved(body, { policies: { a: wire(api) } }).policies.get('a')
      for (const key of Object.keys(WIRE) as (keyof typeof WIRE)[]) {
        const layers: [string, Fields][] = [
          ['api', api],
          ['policy', own],
          ['global_defaults', defaults],
          ['built-in', POLICY_DEFAULTS],
        ]
        const [origin, layer] = layers.find(([, said]) => said[key] !== undefined) as [string, Fields]
        expect(found?.policy[key]).toBe(layer[key])
        expect(found?.origins[key]?.origin).toBe(origin)
      }
    }),
    { numRuns: 100 },
  )
})

const BODY = `
policies: { a: { max_attempts: 2 }, off: { enabled: false }, constructor2: {} }
circuit_breakers: { notion: {} }
subsystem_mappings:
  browser:
    state: { timeout: a, default: rate_limited, later: "?nope" }
    page: { timeout: a }
    quiet: { default: off }
  dark: { all: { default: a } }
subsystems: { dark: { enabled: false, error_kinds: { flaky: [SensorError] } } }
error_kinds: { flaky: [Other], disk_full: [ENOSPC] }
`

test.each([
  ['browser.state', { timeout: 'a', later: 'default' }, 'rate_limited', true],
  ['browser.page', { timeout: 'a' }, 'default', true],
  ['browser.state.timeout', {}, 'a', true],
  ['browser.state.unheard', {}, 'rate_limited', true],
  ['browser.page.unheard', {}, 'default', true],
  ['browser.unheard', {}, 'default', true],
  ['unheard.of', {}, 'default', true],
  ['a', {}, 'a', true],
  ['unheard', {}, 'default', true],
  ['', {}, 'default', true],
  ['constructor', {}, 'default', true],
  ['__proto__.toString', {}, 'default', true],
  ['off', {}, 'off', false],
  ['browser.quiet', {}, 'off', false],
  ['dark.all', {}, 'a', false],
])('operation %j', (operation, kinds, fallbackPolicyId, isEnabled) => {
  const config = resolved(BODY)
  const plan = resolveOperation(config, operation)
  expect(Object.fromEntries(plan.policyByKind)).toEqual(kinds)
  expect(plan).toMatchObject({ operation, fallbackPolicyId, isEnabled })
  expect(resolveOperation(config, operation)).toBe(plan)
})

test('kinds of a subsystem win over those of all', () => {
  const config = resolved(BODY)
  expect(resolveOperation(config, 'dark.all').errorKinds).toEqual({
    flaky: ['SensorError'],
    disk_full: ['ENOSPC'],
  })
  expect(resolveOperation(config, 'browser.page').errorKinds).toEqual({
    flaky: ['Other'],
    disk_full: ['ENOSPC'],
  })
})

test('the schedule tells each wait with the bounds that chance has', () => {
  const policy = (body: string) =>
    computeSchedule(resolved(`policies: { a: { ${body} } }`).policies.get('a')?.policy as RetryPolicy)
  expect(policy('max_attempts: 4, max_delay: 3')).toEqual({
    waits: [
      { attempt: 2, base: 1000, min: 1000, max: 1000 },
      { attempt: 3, base: 2000, min: 2000, max: 2000 },
      { attempt: 4, base: 3000, min: 3000, max: 3000 },
    ],
    total: { base: 6000, min: 6000, max: 6000 },
    more: false,
  })
  expect(policy('max_attempts: 3, jitter_type: full, jitter_amount: 0.5').waits).toEqual([
    { attempt: 2, base: 1000, min: 500, max: 1000 },
    { attempt: 3, base: 2000, min: 1000, max: 2000 },
  ])
  expect(policy('max_attempts: 3, jitter_type: decorrelated, jitter_amount: 1').waits).toEqual([
    { attempt: 2, base: 1000, min: 1000, max: 3000 },
    { attempt: 3, base: 2000, min: 1000, max: 9000 },
  ])
  expect(policy('max_attempts: .inf')).toMatchObject({ more: true })
  expect(policy('enabled: false').waits).toEqual([])
})

test('explain tells for each kind the policy, its values with their origins, the waits and the breaker', () => {
  const body = `policies:
  a: { max_attempts: 2, circuit_breaker: notion }
  b: { enable_circuit_breaker: true }
circuit_breakers: { notion: {} }
subsystem_mappings: { s: { o: { timeout: a, default: b } } }
overrides: { "Graph/Retry/delay": 5 }`
  const found = explain(resolved(body, { policies: { a: { max_attempts: 9 } } }), 's.o')
  expect(found).toMatchObject({ operation: 's.o', subsystem: 's', enabled: true })
  expect(found.policies.map(({ kind, policyId, breaker }) => [kind, policyId, breaker])).toEqual([
    ['timeout', 'a', 'service:notion'],
    ['default', 'b', 'policy:b'],
  ])
  expect(found.policies[0]?.values.maxAttempts).toEqual({ value: 9, origin: 'api' })
  expect(found.policies[1]?.values.baseDelay).toEqual({ value: 1000, origin: 'built-in' })
  expect(found.policies[1]?.schedule.waits).toHaveLength(2)
  expect(found.notes).toEqual([
    'policies.a.max_attempts: the 2 of the config (hf.yaml:3:22) is hidden by 9, a change through the API',
    'overrides name Graph, of which no decorated method is known yet',
  ])
})

test('a value that a change through the API hides is reported as it is written in the file', () => {
  const body = 'policies: { a: { base_delay: 1.1 } }'
  expect(explain(resolved(body, { policies: { a: { base_delay: 2 } } }), 'a').notes).toEqual([
    'policies.a.base_delay: the 1.1 of the config (hf.yaml:2:30) is hidden by 2, a change through the API',
  ])
})

test('defaults take every field but those that name a policy', () => {
  const { id: _, name: __, description: ___, ...fields } = policyEntrySchema.shape
  expect(Object.keys(defaultsSchema.shape)).toEqual(Object.keys(fields))
})

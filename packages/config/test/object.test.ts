import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkConfig, checkObject, parseConfigObject } from '../src/check/check.js'
import { describeProblem } from '../src/problems/describe.js'
import { configCodec } from '../src/schema/schema.js'
import { lines } from './read.js'

const wrong = (value: unknown): string[] => lines(checkObject(value, {}).problems.map(describeProblem))

test('a config object has camelCase keys and milliseconds or strings with a unit', () => {
  const config = parseConfigObject(
    {
      policies: {
        a: {
          maxAttempts: Number.POSITIVE_INFINITY,
          baseDelay: 200,
          maxDelay: '5s',
          totalTimeout: Number.POSITIVE_INFINITY,
        },
      },
      deadLetters: { maxAge: '30d' },
    },
    {},
  )
  expect(config).toEqual({
    version: '1.2.0',
    policies: {
      a: {
        maxAttempts: Number.POSITIVE_INFINITY,
        baseDelay: 200,
        maxDelay: 5000,
        totalTimeout: Number.POSITIVE_INFINITY,
      },
    },
    deadLetters: { maxAge: 2_592_000_000 },
  })
})

test('unknown keys of an object, including snake_case keys, are reported with the nearest camelCase key', () => {
  expect(wrong({ policies: { a: { max_attempts: 3, jitterAmont: 1 } }, subsystem_mappings: {} })).toEqual([
    'policies.a.max_attempts: unknown key of policies.a (did you mean maxAttempts?)',
    'policies.a.jitterAmont: unknown key of policies.a (did you mean jitterAmount?)',
    'subsystem_mappings: unknown key of the config (did you mean subsystemMappings?)',
  ])
})

test('variables in the strings of an object are not replaced', () => {
  expect(parseConfigObject({ policies: { a: { name: '${HOME}' } } }, { HOME: 'x' }).policies?.a?.name).toBe(
    '${HOME}',
  )
})

test('problems of an object are worded in milliseconds', () => {
  expect(wrong({ policies: { a: { baseDelay: '2s', maxDelay: 100, attemptTimeout: -1 } } })).toEqual([
    "policies.a.attemptTimeout: expected a duration above 0, or Infinity for none, in milliseconds or as '500ms', '30s', '5m', '24h', '30d', got -1",
    'policies.a.maxDelay: expected at least baseDelay (2000 ms), got 100 ms',
  ])
})

test('parsing an object neither changes it nor shares parts with it', () => {
  const given = {
    policies: { a: { retryableExceptions: ['timeout'] } },
    overrides: { 'Retry/abortOn': ['validation'] },
  }
  const before = structuredClone(given)
  const config = parseConfigObject(given, {})
  given.policies.a.retryableExceptions.push('auth')
  given.overrides['Retry/abortOn'].push('auth')
  expect(config.policies?.a?.retryableExceptions).toEqual(before.policies.a.retryableExceptions)
  expect(config.overrides).toEqual(before.overrides)
})

const ms = fc.integer({ min: 0, max: 10_000_000 })
const policy = fc.record(
  {
    name: fc.string().filter((text) => !text.includes('${')),
    enabled: fc.boolean(),
    maxAttempts: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.constant(Number.POSITIVE_INFINITY)),
    backoffType: fc.constantFrom('exponential', 'linear', 'fixed', 'immediate', 'fibonacci'),
    jitterType: fc.constantFrom('none', 'full', 'equal', 'decorrelated', 'proportional', 'additive'),
    jitterAmount: fc.double({ min: 0, max: 1, noNaN: true }),
    maxRetryAfter: ms.map((value) => value + 1),
    attemptTimeout: fc.oneof(
      ms.map((value) => value + 1),
      fc.constant(null),
      fc.constant(Number.POSITIVE_INFINITY),
    ),
    retryableExceptions: fc.array(fc.constantFrom('timeout', 'ECONNRESET', 'sql:40', 'grpc:ABORTED')),
    bulkhead: fc.record({ limit: fc.integer({ min: 1, max: 9 }), queue: fc.integer({ min: 0, max: 9 }) }),
  },
  { requiredKeys: [] },
)
const anyConfig = fc.record(
  {
    debug: fc.boolean(),
    policies: fc.dictionary(
      fc.string({ minLength: 1 }).filter((name) => name.trim() !== '' && name !== '__proto__'),
      policy,
    ),
    circuitBreakers: fc.dictionary(
      fc.stringMatching(/^[a-z]+$/),
      fc.record(
        { failureThreshold: fc.integer({ min: 1, max: 50 }), windowDuration: ms.map((value) => value + 1) },
        { requiredKeys: [] },
      ),
    ),
    server: fc.record({ port: fc.integer({ min: 0, max: 65_535 }) }),
  },
  { requiredKeys: [] },
)

test('an object is unchanged after encoding and parsing', () => {
  fc.assert(
    fc.property(anyConfig, (given) => {
      const config = parseConfigObject(given, {})
      const wire = configCodec.encode(config)
      const back = checkConfig(JSON.stringify(wire), { env: {}, format: 'json' })
      expect(lines(back.problems)).toEqual([])
      expect(back.config).toEqual(config)
      expect(parseConfigObject(config, {})).toEqual(config)
      expect(config).toEqual({ version: '1.2.0', ...given })
    }),
    { numRuns: 100 },
  )
})

import { expect, test } from 'vitest'
import { parseConfig } from '../src/check/check.js'
import { migrateConfig } from '../src/migrate/migrate.js'
import { fixture } from './read.js'

const policiesOf = (text: string) => parseConfig(text, { env: {} }).policies

test('a file of version 1.0 becomes an equivalent file of version 1.1.0', () => {
  const { text, report } = migrateConfig(fixture('consolidated.yaml'))
  const [old, now] = [parseConfig(fixture('consolidated.yaml'), { env: {} }), parseConfig(text, { env: {} })]
  expect(now.version).toBe('1.1.0')
  expect(now.policies).toEqual(old.policies)
  expect(now.globalDefaults).toEqual(old.globalDefaults)
  expect(now.subsystemMappings?.browser?.state_operations).toEqual({
    timeout: 'browser_state_timeout',
    network_error: 'browser_network_error',
    disk_full: '?browser_disk_full',
  })
  expect(report).toEqual({
    converted: 0,
    unchanged: 4,
    problems: [],
    integrity: {
      policiesIn: 4,
      policiesOut: 4,
      mappingsIn: 12,
      mappingsOut: 12,
      breakersIn: 0,
      breakersOut: 0,
      ok: true,
    },
  })
})

test('a second migration changes nothing', () => {
  const { text } = migrateConfig(fixture('consolidated.yaml'))
  const again = migrateConfig(text)
  expect(again.text).toBe(text)
  expect(again.report.converted).toBe(0)
})

test('a folder of old settings becomes policies by subsystem, operation and kind', () => {
  const { text, report } = migrateConfig([
    {
      file: 'settings/browser.json',
      text: '{ "state": { "timeout": { "maxRetries": 4, "initialDelayMs": 250, "maxDelayMs": 5000 } } }',
    },
    {
      file: 'settings/telemetry.yaml',
      text: 'batch:\n  retry:\n    retries: 2\n    delay: 500\n    backoff: linear\n',
    },
    { file: 'settings/navigation.yml', text: 'retry_count: 3\nbackoff: 2\njitter: true\n' },
  ])
  expect(policiesOf(text)).toEqual({
    browser_state_timeout: { maxAttempts: 5, baseDelay: 250, maxDelay: 5000 },
    telemetry_batch: { maxAttempts: 3, baseDelay: 500, backoffType: 'linear' },
    navigation: { maxAttempts: 4, baseDelay: 2000, jitterType: 'proportional', jitterAmount: 0.5 },
  })
  expect(parseConfig(text, { env: {} }).subsystemMappings).toEqual({
    browser: { state: { timeout: 'browser_state_timeout' } },
    telemetry: { batch: { default: 'telemetry_batch' } },
  })
  expect(report.problems).toEqual([
    {
      file: 'settings/telemetry.yaml',
      path: 'telemetry.batch.delay',
      message: '500 has no unit and was read as milliseconds',
    },
  ])
  expect(report).toMatchObject({
    converted: 3,
    unchanged: 0,
    integrity: { policiesIn: 3, policiesOut: 3, ok: true },
  })
})

test('in settings with a minimum delay the multiplier scales it and the timeout is per attempt', () => {
  const { text } = migrateConfig({
    gmail: {
      max_attempts: 3,
      backoff_multiplier: 1,
      backoff_min: 1,
      backoff_max: 10,
      jitter_min: 0,
      jitter_max: 2,
      timeout: 30,
      respect_retry_after: true,
    },
  })
  expect(policiesOf(text)).toEqual({
    gmail: {
      maxAttempts: 3,
      baseDelay: 1000,
      maxDelay: 10_000,
      jitterType: 'additive',
      jitterMin: 0,
      jitterMax: 2000,
      attemptTimeout: 30_000,
      respectRetryAfter: true,
    },
  })
})

test('in settings of proxy requests the timeout is that of the whole request', () => {
  const { text } = migrateConfig({
    max_attempts: 3,
    backoff_strategy: 'exponential',
    base_delay: 1,
    multiplier: 2,
    max_backoff_delay: 30,
    jitter: false,
    retry_status_codes: [502, 503],
    timeout: 20,
  })
  expect(policiesOf(text)).toEqual({
    default: {
      maxAttempts: 3,
      backoffType: 'exponential',
      baseDelay: 1000,
      multiplier: 2,
      maxDelay: 30_000,
      jitterType: 'none',
      retryStatusCodes: [502, 503],
      totalTimeout: 20_000,
    },
  })
})

test('breakers are found alone and within settings, without their state', () => {
  const { text, report } = migrateConfig({
    notion: {
      service_name: 'notion',
      failure_threshold: 5,
      success_threshold: 2,
      timeout: 60,
      state: 'CLOSED',
      failure_count: 2,
    },
    fetch: { retries: 1, circuitBreaker: { threshold: 3, resetTimeoutMs: 30_000 } },
  })
  const config = parseConfig(text, { env: {} })
  expect(config.circuitBreakers).toEqual({
    notion: { failureThreshold: 5, successThreshold: 2, timeoutDuration: 60_000 },
    fetch: { failureThreshold: 3, timeoutDuration: 30_000 },
  })
  expect(config.policies).toEqual({ fetch: { maxAttempts: 2, circuitBreaker: 'fetch' } })
  expect(report.integrity).toMatchObject({ breakersIn: 2, breakersOut: 2, ok: true })
})

test('unknown settings are reported and never thrown', () => {
  const { text, report } = migrateConfig([
    { file: 'a.yaml', text: 'retries: lots\ncolour: red\n' },
    { file: 'b.yaml', text: '"unended' },
    { file: 'c.yaml', text: '- a list' },
  ])
  expect(text).toContain('1.1.0')
  expect(report.integrity.ok).toBe(false)
  expect(report.problems.map(({ file, path, message }) => `${file} ${path}: ${message}`)).toEqual([
    'a.yaml a.colour: unknown setting, which was ignored',
    expect.stringContaining('b.yaml : line 1: not valid YAML'),
    'c.yaml : expected a mapping of settings, got a list',
    'undefined policies.a.max_attempts: in the result: expected a whole number from 1, or .inf (Infinity in JSON), got "lots"',
  ])
})

test('migration neither changes its input nor pollutes prototypes', () => {
  const input = JSON.parse(
    '{"__proto__": {"state": {"retries": 1}}, "policies": {"a": {"retries": 2}}, "subsystem_mappings": {"__proto__": {"x": {"y": "z"}}}}',
  ) as object
  const before = JSON.stringify(input)
  migrateConfig(input)
  expect(JSON.stringify(input)).toBe(before)
  expect(({} as { x?: unknown; state?: unknown }).x).toBeUndefined()
  expect(({} as { x?: unknown; state?: unknown }).state).toBeUndefined()
})

test.each([
  ['nothing', undefined],
  ['null', null],
  ['a number', 5],
  ['an empty mapping', {}],
  ['an empty text', ''],
  ['a text that is not a mapping', 'hello'],
  ['a text that is not YAML', 'a: [1'],
  ['an empty list', []],
  ['a list with values that are not files', [null, 5, 'retries: 2', { file: 'x.yaml' }]],
  ['settings of something else', { theme: 'dark' }],
])('migration of %s fails with a report', (_, input) => {
  const { text, report } = migrateConfig(input as never)
  expect(report.integrity).toMatchObject({ policiesIn: 0, policiesOut: 0, ok: false })
  expect(report.problems.length).toBeGreaterThan(0)
  for (const { message } of report.problems) expect(message).not.toMatch(/undefined \(/)
  expect(parseConfig(text, { env: {} }).version).toBe('1.1.0')
})

test('a file that cannot be read makes the migration incomplete', () => {
  const { text, report } = migrateConfig([
    { file: 'a.yaml', text: 'save: { retries: 2 }' },
    { file: 'b.yaml', text: 'a: [1' },
  ])
  expect(policiesOf(text)).toEqual({ a_save: { maxAttempts: 3 } })
  expect(report.integrity.ok).toBe(false)
  expect(report.problems).toMatchObject([{ file: 'b.yaml' }])
})

test('durations are written in readable units', () => {
  const { text } = migrateConfig({ a: { b: { maxRetries: 1, initialDelayMs: 1001, maxDelayMs: 1100 } } })
  expect(text).toMatch(/base_delay: 1\.001\n/)
  expect(text).toMatch(/max_delay: 1\.1\n/)
})

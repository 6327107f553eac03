import { expect, test } from 'vitest'
import { checkConfig, parseConfig } from '../src/check/check.js'
import { check, lines, refused, wrong } from './read.js'

test('parseConfig reports all problems at once, with position, expected and actual value and a suggestion', () => {
  const text = `version: "1.1.0"
polices: {}
policies:
  fetch:
    max_attempts: 0
    backoff_type: exponentail
    base_delay: 10
    max_delay: 5
subsystem_mappings:
  browser: { state: { timeout: fetc } }
`
  const error = refused(() => parseConfig(text, { file: 'holdfast.yaml', env: {} }))
  expect(error.details).toEqual([
    'holdfast.yaml:2:1 polices: unknown key of the config (did you mean policies?)',
    'holdfast.yaml:5:19 policies.fetch.max_attempts: expected a whole number from 1, or .inf (Infinity in JSON), got 0',
    'holdfast.yaml:6:19 policies.fetch.backoff_type: expected one of exponential, linear, fixed, immediate, fibonacci, got "exponentail" (did you mean exponential?)',
    'holdfast.yaml:8:16 policies.fetch.max_delay: expected at least base_delay (10 s), got 5 s',
    'holdfast.yaml:10:32 subsystem_mappings.browser.state.timeout: expected the id of a policy, got "fetc" (did you mean fetch?); write "?name" where it may be missing',
  ])
  for (const line of error.details ?? []) expect(error.message).toContain(line)
  expect(error.problems[1]).toEqual({
    path: 'policies.fetch.max_attempts',
    line: 5,
    column: 19,
    message: 'expected a whole number from 1, or .inf (Infinity in JSON), got 0',
  })
})

test.each([
  ['', 'expected a mapping with at least a version: version: "1.2.0", got null'],
  ['5', 'version: "1.2.0", got 5'],
  ['- a', 'version: "1.2.0", got a list'],
  ['debug: true', 'expected a text such as "1.2.0", in quotes, got nothing'],
  ['version: 1.1', 'expected a text such as "1.2.0", in quotes, got 1.1'],
  ['version: "2.0.0"', 'expected 1.0.x, 1.1.x or 1.2.x'],
  ['version: "one"', 'expected a text such as "1.2.0"'],
])('parseConfig rejects %j', (text, message) => {
  const { config, problems } = checkConfig(text, { env: {} })
  expect(config).toBeUndefined()
  expect(lines(problems).join('\n')).toContain(message)
})

test('checkConfig warns about a newer minor version and about sections that are newer than the version of the file', () => {
  expect(lines(checkConfig('version: "1.4.0"', { env: {} }).warnings)).toEqual([
    'version: expected 1.2 or older, got "1.4.0"; it is read as 1.2.0',
  ])
  const { config, warnings } = checkConfig('version: "1.0.3"\nstore: memory', { env: {} })
  expect(config?.store).toBe('memory')
  expect(lines(warnings)).toEqual(['store: this section requires version 1.1.0; it is used anyway'])
})

test('checkConfig suggests the nearest key for an unknown key of a 1.0 file', () => {
  const { problems } = checkConfig('version: "1.0.0"\npolicies: { a: { max_attemps: 3 } }', { env: {} })
  expect(lines(problems)).toEqual([
    'policies.a.max_attemps: unknown key of policies.a (did you mean max_attempts?)',
  ])
})

test('checkConfig accepts a mapping to a missing policy that is written as "?name"', () => {
  expect(wrong('subsystem_mappings: { a: { b: { timeout: "?later" } } }')).toEqual([])
})

test.each([
  ['policies: { a: { circuit_breaker: notio } }\ncircuit_breakers: { notion: {} }', '(did you mean notion?)'],
  ['policies: { a: { id: b } }', 'expected its key, "a"'],
  ['pools: { p: { policy: nope } }', 'expected the id of a policy'],
  ['proxy: { pool: p }', 'expected the id of a pool'],
  [
    'pools: { p: { members: [{ id: a, url: "http://a" }, { id: a, url: "http://b" }] } }',
    'which is also the id of',
  ],
  ['pools: { p: { members: [{ id: a }] } }', 'url: expected a url that begins'],
  ['circuit_breakers: { a: { slow_call_rate: 0.5 } }', 'expected slow_call_duration beside it'],
  ['circuit_breakers: { a: { max_timeout_duration: 1 } }', 'expected at least timeout_duration'],
  [
    'circuit_breakers: { a: { failure_rate: 0.5, window_type: rolling } }',
    'expected rate, because a rate is set',
  ],
  ['store: redis://localhost', 'expected memory, files:DIR, sqlite:FILE or postgres://HOST/DATABASE'],
  ['redact: { patterns: ["("] }', 'expected a regular expression'],
  ['policies: { a: { retry_status_codes: [404] } }', '408, 425, 429 or a status from 500 to 599'],
  ['policies: { a: { retryable_exceptions: ["not a name"] } }', "expected a name such as 'timeout'"],
  ['policies: { a: { base_delay: 5 minutes } }', "in seconds or as '500ms'"],
  ['policies: { a: { base_delay: .inf } }', 'expected a duration of 0 or more'],
  ['policies: { a: { total_timeout: 0 } }', 'a duration above 0, or .inf'],
  ['policies: 7', 'policies: expected a mapping, got 7'],
  [
    'global_defaults: { base_delay: 60 }',
    'expected at least base_delay (60 s by global_defaults), got 30 s by default',
  ],
  ['global_defaults: { base_delay: 10 }\npolicies: { a: { max_delay: 5 } }', '(10 s by global_defaults)'],
  ['overrides: { "Retry/maxRetris": 5 }', '(did you mean maxRetries?)'],
  ['overrides: { "A/b/c/Retry/delay": 5 }', 'expected Class/method/Decorator/setting'],
  ['overrides: { "A/Retri/delay": 5 }', 'got "Retri"'],
  ['overrides: { "A/b/Retry/delay": soon }', 'expected a duration of 0 or more'],
  ['overrides: { "Retry/enabled": 1 }', 'expected true or false'],
])('checkConfig reports the problem of %s', (body, message) => {
  expect(wrong(body).join('\n')).toContain(message)
})

test('max_delay limits a base_delay that is not configured', () => {
  expect(wrong('policies: { a: { max_delay: 0.1 } }')).toEqual([])
})

test('empty sections and policies are accepted', () => {
  const { config } = check('policies:\n  a:\npools:\nstore: memory')
  expect(config).toEqual({ version: '1.1.0', policies: { a: {} }, pools: {}, store: 'memory' })
})

test('infinite attempts and timeouts are written as .inf, or as Infinity in JSON', () => {
  const body =
    'policies: { a: { max_attempts: .inf, total_timeout: Infinity, base_delay: 500ms, max_retry_after: 5m } }'
  expect(check(body).config?.policies?.a).toEqual({
    maxAttempts: Number.POSITIVE_INFINITY,
    totalTimeout: Number.POSITIVE_INFINITY,
    baseDelay: 500,
    maxRetryAfter: 300_000,
  })
})

test('YAML merge keys and anchors are supported', () => {
  const { config } = check('policies:\n  a: &a { max_attempts: 7 }\n  b: { <<: *a, base_delay: 2 }')
  expect(config?.policies?.b).toEqual({ maxAttempts: 7, baseDelay: 2000 })
})

test('parseConfig rejects a value that is not a string with CONFIG_INVALID', () => {
  expect(refused(() => parseConfig(undefined as never)).message).toContain('expected a string, got nothing')
})

test('a parsed config is frozen', () => {
  const { config } = check('policies: { a: { retryable_exceptions: [timeout] } }')
  expect(Object.isFrozen(config?.policies?.a?.retryableExceptions)).toBe(true)
})

test('server.tls needs both files', () => {
  const problemsOf = (tls: object) =>
    checkConfig(JSON.stringify({ version: '1.2.0', server: { tls } }), { env: {} }).problems.map(
      ({ path, message }) => [path, message],
    )
  const message = (got: string) => [['server.tls', `expected the files cert and key, got ${got}`]]
  expect(problemsOf({ cert: 'cert.pem' })).toEqual(message('no key'))
  expect(problemsOf({ key: 'key.pem' })).toEqual(message('no cert'))
  expect(problemsOf({})).toEqual(message('no cert and no key'))
  expect(problemsOf({ cert: 'cert.pem', key: 'key.pem' })).toEqual([])
})

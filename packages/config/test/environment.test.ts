import { expect, test } from 'vitest'
import { checkConfig } from '../src/check/check.js'
import { decoratorOverrides, undeclaredClasses } from '../src/resolve/overrides.js'
import { check, lines, resolved, wrong } from './read.js'

test('${VAR} is replaced and converted to the type of its field', () => {
  const env = { PORT: '8123', SURE: 'true', WAIT: '30s', HALF: '0.5', LIST: 'a, b', HOST: '123' }
  const { config, problems } = check(
    [
      'server: { port: ${PORT}, host: ${HOST} }',
      'debug: ${SURE}',
      'policies: { a: { base_delay: ${HALF}, total_timeout: ${WAIT} } }',
      'dead_letters: { operations: ${LIST} }',
      'store: "files:${DIR:-data}/x"',
      'error_log: { dir: "${DIR:-with, comma: and # all}" }',
    ].join('\n'),
    { env },
  )
  expect(problems).toEqual([])
  expect(config).toMatchObject({
    debug: true,
    server: { port: 8123, host: '123' },
    policies: { a: { baseDelay: 500, totalTimeout: 30_000 } },
    deadLetters: { operations: ['a', 'b'] },
    store: 'files:data/x',
    errorLog: { dir: 'with, comma: and # all' },
  })
})

test('a variable that is not set or has no valid name is reported once', () => {
  expect(wrong('store: ${NOPE}\nserver: { host: "${not a name}" }')).toEqual([
    'store: the variable NOPE is not set (set it, or write ${NOPE:-default})',
    'server.host: expected ${NAME} or ${NAME:-default}, got "${not a name}"',
  ])
})

test('text that is not a valid variable reference is not changed', () => {
  expect(check('policies: { a: { description: "costs $5 {each}" } }').config?.policies?.a?.description).toBe(
    'costs $5 {each}',
  )
})

test('HOLDFAST_ variables replace single values and become their origin', () => {
  const env = {
    HOLDFAST_STORE: 'files:elsewhere',
    HOLDFAST_SERVER_PORT: '9000',
    HOLDFAST_DEBUG: 'true',
    HOLDFAST_POLICIES_MY_FETCH_MAX_ATTEMPTS: '7',
    HOLDFAST_POLICIES_RATE_LIMITED_BASE_DELAY: '3s',
    HOLDFAST_GLOBAL_DEFAULTS_MAX_DELAY: '40',
    HOLDFAST_TOKEN: 'not a key of the file',
  }
  const config = resolved('store: memory\npolicies: { my-fetch: { max_attempts: 2 } }', undefined, { env })
  expect(config.config).toMatchObject({ store: 'files:elsewhere', debug: true, server: { port: 9000 } })
  const fetch = config.policies.get('my-fetch')
  expect(fetch?.policy).toMatchObject({ maxAttempts: 7, maxDelay: 40_000 })
  expect(fetch?.origins.maxAttempts).toEqual({
    origin: 'environment',
    where: 'HOLDFAST_POLICIES_MY_FETCH_MAX_ATTEMPTS',
  })
  expect(fetch?.origins.maxDelay).toEqual({
    origin: 'environment',
    where: 'HOLDFAST_GLOBAL_DEFAULTS_MAX_DELAY',
  })
  expect(config.policies.get('rate_limited')?.policy).toMatchObject({ baseDelay: 3000, maxAttempts: 5 })
})

test('a wrong value is reported under its variable, and a misspelt variable is a warning', () => {
  const env = { HOLDFAST_SERVER_PORT: 'eighty', HOLDFAST_SEVER_HOST: 'x' }
  const { problems, warnings } = check('', { env })
  expect(lines(problems)).toEqual([
    'HOLDFAST_SERVER_PORT: expected a port, 0 to 65535, got a value that is not shown',
  ])
  expect(problems[0]?.line).toBeUndefined()
  expect(lines(warnings)).toEqual([
    'HOLDFAST_SEVER_HOST: unknown variable (did you mean HOLDFAST_SERVER_HOST?)',
  ])
})

test('decorator overrides are read from upper-case variables', () => {
  const overrides = { 'Graph/upsert/Retry/maxRetries': 5, 'Retry/enabled': true }
  const env = {
    GRAPH_UPSERT_RETRY_MAXRETRIES: '9',
    RETRY_DELAY: '250',
    PG_STORE_LOAD_TIMEOUT_VALUE: '2s',
    RETRY_ABORTON: 'sql:23, validation',
  }
  expect(decoratorOverrides(overrides, env, [{ owner: 'Pg$Store', method: 'load' }])).toEqual({
    'Graph/upsert/Retry/maxRetries': 9,
    'Retry/enabled': true,
    'Retry/delay': 250,
    'Retry/abortOn': ['sql:23', 'validation'],
    'Pg$Store/load/Timeout/value': '2s',
  })
  expect(lines(checkConfig('version: "1.1.0"', { env: { RETRY_MAXRETRIES: 'lots' } }).problems)[0]).toMatch(
    /^RETRY_MAXRETRIES: expected a whole number/,
  )
})

test('overrides of undeclared classes are reported', () => {
  const overrides = { 'Graph/upsert/Retry/delay': 1, 'Vector/Retry/delay': 1, 'Retry/delay': 1 }
  expect(undeclaredClasses(overrides, [{ owner: 'Graph', method: 'upsert' }])).toEqual(['Vector'])
})

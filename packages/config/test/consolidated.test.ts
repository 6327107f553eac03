import { expect, test } from 'vitest'
import { checkConfig, parseConfig } from '../src/check/check.js'
import { policyIdFor, resolveOperation } from '../src/resolve/operations.js'
import { resolveConfig } from '../src/resolve/resolve-config.js'
import { fixture } from './read.js'

const text = fixture('consolidated.yaml')

test('a file of version 1.0.0 loads as it is', () => {
  const config = parseConfig(text, { env: {} })
  expect(config.version).toBe('1.0.0')
  expect(config.policies?.browser_state_timeout).toEqual({
    name: 'State that timed out',
    description: 'Saving and loading of state that takes too long',
    maxAttempts: 3,
    backoffType: 'exponential',
    baseDelay: 1000,
    maxDelay: 10_000,
    retryableExceptions: ['TimeoutError', 'ConnectionError'],
    enabled: true,
  })
  expect(config.globalDefaults).toEqual({
    jitterType: 'full',
    jitterAmount: 0.1,
    enableCircuitBreaker: false,
  })
})

test('its eight mappings to policies that are not there are warnings, each with its place', () => {
  const { problems, warnings } = checkConfig(text, { env: {} })
  expect(problems).toEqual([])
  expect(warnings).toHaveLength(8)
  expect(warnings[0]).toEqual({
    path: 'subsystem_mappings.browser.state_operations.disk_full',
    line: 57,
    column: 18,
    message: 'expected the id of a policy, got "browser_disk_full"; the default policy applies',
  })
})

test('its operations resolve by the kind of the failure', () => {
  const config = resolveConfig({ config: parseConfig(text, { env: {} }) })
  const state = resolveOperation(config, 'browser.state_operations')
  expect(policyIdFor(state, 'timeout')).toBe('browser_state_timeout')
  expect(policyIdFor(state, 'network_error')).toBe('browser_network_error')
  expect(policyIdFor(state, 'disk_full')).toBe('default')
  expect(policyIdFor(state, 'unknown')).toBe('default')
  const telemetry = resolveOperation(config, 'telemetry.error_handling')
  expect(policyIdFor(telemetry, 'timeout')).toBe('telemetry_error_handling')
  const route = resolveOperation(config, 'navigation.route_adaptation.retry_with_delay')
  expect(policyIdFor(route, 'timeout')).toBe('navigation_retry_with_delay')
})

test('the same file is refused as 1.1.0, naming each policy that is missing', () => {
  const { problems } = checkConfig(text.replace('1.0.0', '1.1.0'), { env: {} })
  expect(problems).toHaveLength(8)
  expect(problems[7]?.message).toContain('"telemetry_simple_retries"')
  expect(problems[7]?.message).toContain('"?name"')
})

test('the same as JSON says the same', () => {
  const yaml = parseConfig(text, { env: {} })
  const json = JSON.stringify({
    version: '1.0.0',
    policies: { a: { id: 'a', name: 'A', max_attempts: 2 } },
  })
  expect(parseConfig(json, { env: {}, format: 'json' }).policies).toEqual({
    a: { id: 'a', name: 'A', maxAttempts: 2 },
  })
  expect(yaml.policies).toBeDefined()
})

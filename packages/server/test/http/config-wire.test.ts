import type { Configuration } from '@holdfast/runtime'
import { expect, test } from 'vitest'
import { encodeConfig } from '../../src/http/config-wire.js'

test('a configuration is encoded as in its file: snake_case and seconds, names unchanged', async () => {
  const config = {
    version: '1.1.0',
    globalDefaults: { baseDelay: 500, totalTimeout: Number.POSITIVE_INFINITY },
    policies: {
      fetchAll: {
        maxAttempts: 4,
        maxDelay: 2500,
        hedge: { delay: 100, max: 1 },
        budget: { reservePerSecond: 2, window: 1000 },
      },
    },
    circuitBreakers: { maxAge: { timeoutDuration: 30_000, failureThreshold: 5 } },
    subsystemMappings: { subSystem: { saveAll: { timeOut: 'fetchAll' } } },
    pools: {
      myPool: {
        circuitBreaker: { windowDuration: 60_000 },
        members: [{ url: 'http://h', weight: 2 }],
        probe: { interval: 5000 },
      },
    },
    deadLetters: { maxAge: 86_400_000, maxEntries: 10 },
    overrides: { 'A/b/Retry/maxRetries': 5 },
    node: { heartbeat: 1000 },
  }
  expect(await encodeConfig({ current: config as Configuration['current'], layer: {} })).toEqual({
    version: '1.1.0',
    global_defaults: { base_delay: 0.5, total_timeout: 'Infinity' },
    policies: {
      fetchAll: {
        max_attempts: 4,
        max_delay: 2.5,
        hedge: { delay: 0.1, max: 1 },
        budget: { reserve_per_second: 2, window: 1 },
      },
    },
    circuit_breakers: { maxAge: { timeout_duration: 30, failure_threshold: 5 } },
    subsystem_mappings: { subSystem: { saveAll: { timeOut: 'fetchAll' } } },
    pools: {
      myPool: {
        circuit_breaker: { window_duration: 60 },
        members: [{ url: 'http://h', weight: 2 }],
        probe: { interval: 5 },
      },
    },
    dead_letters: { max_age: 86_400, max_entries: 10 },
    overrides: { 'A/b/Retry/maxRetries': 5 },
    node: { heartbeat: 1 },
  })
})

test('a configuration includes the members that were added, changed and removed through the API', async () => {
  const current = {
    version: '1.1.0',
    pools: {
      some: { members: [{ url: 'http://a:1' }, { id: 'b', url: 'http://b:2', region: 'eu' }] },
      none: {},
    },
  }
  const layer = {
    pools: {
      some: {
        members: {
          'a:1': null,
          b: { weight: 4, enabled: false },
          c: { url: 'http://ann:hunter2@c:3', enabled: true },
          gone: { weight: 2 },
        },
      },
    },
  }
  expect(await encodeConfig({ current: current as Configuration['current'], layer })).toEqual({
    version: '1.1.0',
    pools: {
      some: {
        members: [
          { id: 'b', url: 'http://b:2', region: 'eu', weight: 4 },
          { id: 'c', url: 'http://[redacted]@c:3' },
        ],
      },
      none: {},
    },
  })
})

test('a configuration includes the policies that were added and changed through the API, without the deleted ones', async () => {
  const current = {
    version: '1.1.0',
    policies: { deleted: { maxAttempts: 4 }, changed: { maxAttempts: 4, name: 'n' } },
  }
  const layer = { policies: { changed: { max_attempts: 5 }, deleted: null, added: { base_delay: 0.5 } } }
  expect(await encodeConfig({ current: current as Configuration['current'], layer })).toEqual({
    version: '1.1.0',
    policies: { changed: { max_attempts: 5, name: 'n' }, added: { base_delay: 0.5 } },
  })
})

test('a configuration does not include its only policy if that was deleted through the API', async () => {
  const current = { version: '1.1.0', policies: { only: { maxAttempts: 4 } } }
  const config = { current: current as Configuration['current'], layer: { policies: { only: null } } }
  expect(await encodeConfig(config)).toEqual({ version: '1.1.0', policies: {} })
})

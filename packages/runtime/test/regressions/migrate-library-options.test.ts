import { expect, test } from 'vitest'
import { parseConfig } from '../../../config/src/check/check.js'
import { migrateConfig } from '../../../config/src/migrate/migrate.js'

const migrated = (file: string, value: object) => {
  const { text, report } = migrateConfig([{ file, text: JSON.stringify(value) }])
  const { policies, circuitBreakers, subsystemMappings } = parseConfig(text, { env: {} })
  return { policies, circuitBreakers, subsystemMappings, report }
}

test('migrate converts the options of p-retry, whose times are milliseconds', () => {
  const { policies, report } = migrated('mail.json', {
    send: {
      retries: 5,
      factor: 3,
      minTimeout: 50,
      maxTimeout: 60_000,
      maxRetryTime: 90_000,
      randomize: true,
    },
    poll: { forever: true, minTimeout: 10, unref: true },
    once: { retries: 0, randomize: false },
  })
  expect(policies).toEqual({
    mail_send: {
      maxAttempts: 6,
      multiplier: 3,
      baseDelay: 50,
      maxDelay: 60_000,
      totalTimeout: 90_000,
      jitterType: 'proportional',
      jitterAmount: 0.5,
    },
    mail_poll: { maxAttempts: Number.POSITIVE_INFINITY, baseDelay: 10 },
    mail_once: { maxAttempts: 1, jitterType: 'none' },
  })
  expect(report.integrity.ok).toBe(true)
  expect(report.problems.map(({ path }) => path)).toEqual(['mail.send.randomize'])
})

test('migrate converts the options of opossum: its timeout to that of the call, its percentage to a rate', () => {
  const { policies, circuitBreakers, subsystemMappings, report } = migrated('shop.json', {
    pay: {
      timeout: 3000,
      errorThresholdPercentage: 40,
      resetTimeout: 20_000,
      rollingCountTimeout: 500,
      rollingCountBuckets: 10,
      volumeThreshold: 7,
      capacity: 12,
      name: 'payments',
      enabled: true,
    },
  })
  expect(policies).toEqual({
    shop_pay: {
      maxAttempts: 1,
      attemptTimeout: 3000,
      bulkhead: { limit: 12, queue: 0 },
      circuitBreaker: 'payments',
    },
  })
  expect(circuitBreakers).toEqual({
    payments: { failureRate: 0.4, timeoutDuration: 20_000, windowDuration: 500, minimumCalls: 7 },
  })
  expect(subsystemMappings).toEqual({ shop: { pay: { default: 'shop_pay' } } })
  expect(report).toMatchObject({ problems: [], integrity: { ok: true, breakersIn: 1, breakersOut: 1 } })
})

test('migrate converts options of p-retry with nested options of opossum, and reports the differences', () => {
  const { policies, circuitBreakers, report } = migrated('shop.json', {
    pay: {
      retries: 2,
      minTimeout: 200,
      breaker: { timeout: false, errorThresholdPercentage: 50, allowWarmUp: true },
    },
    ship: { retries: 2, breaker: { timeout: 800, resetTimeout: 500, volumeThreshold: 0 } },
  })
  expect(policies).toEqual({
    shop_pay: { maxAttempts: 3, baseDelay: 200, circuitBreaker: 'shop_pay' },
    shop_ship: { maxAttempts: 3, attemptTimeout: 800, circuitBreaker: 'shop_ship' },
  })
  expect(circuitBreakers).toEqual({
    shop_pay: { failureRate: 0.5 },
    shop_ship: { failureRate: 0.5, timeoutDuration: 500, minimumCalls: 1 },
  })
  expect(report.integrity.ok).toBe(true)
  expect(report.problems.map(({ path }) => path)).toEqual([
    'shop.pay.circuit_breaker.allowWarmUp',
    'shop.pay.circuit_breaker.volumeThreshold',
  ])
})

import { expect, it } from 'vitest'
import { Holdfast, makeRedactor, openStore, parseConfig } from '../../src/index.js'

// Under `exactOptionalPropertyTypes` an option that may be undefined must say so: this file compiles, or the types are wrong.
it('every option can be undefined, which means that it is absent', async () => {
  const none = undefined
  const hf = await Holdfast.open({
    config: {},
    store: none,
    env: none,
    logger: none,
    clock: none,
    random: none,
    watch: none,
    fallback: none,
  })
  const policy = {
    maxAttempts: none,
    baseDelay: none,
    bulkhead: none,
    totalTimeout: none,
    retryableExceptions: none,
  }
  const call = {
    name: none,
    service: none,
    pool: none,
    policy,
    context: none,
    signal: none,
    retry: none,
    itemId: none,
    payload: none,
    idempotencyKey: none,
    correlationId: none,
  }
  expect(await hf.run('a', () => 1, call)).toBe(1)
  expect(await hf.run('a', () => 1, { ...call, policy: none })).toBe(1)
  expect(await hf.guard('a', call).run(() => 2)).toBe(2)
  const put = await hf.policies.put({ id: 'p', ...policy, maxAttempts: 5 }, { by: none, reason: none })
  expect(put.maxAttempts).toBe(5)
  const range = { from: none, to: none, limit: none, cursor: none, order: none }
  await hf.sessions.list({ ...range, operation: none, success: none, active: none })
  await hf.events.list({ ...range, types: none, operations: none, after: none })
  await hf.errors.list({ ...range, severity: none })
  await hf.audit.list({ ...range, actor: none })
  await hf.deadLetters.list({ ...range, operation: none, status: none })
  await hf.deadLetters.replayBatch({ operation: none, limit: none, retryFailed: none, concurrency: none })
  await hf.close()
  expect(makeRedactor({ keys: none, patterns: none })('x')).toBe('x')
  const store = await openStore('memory', { dir: none })
  await store.close()
  expect(parseConfig('version: "1.2.0"', { file: none, env: {}, format: none }).version).toBe('1.2.0')
})

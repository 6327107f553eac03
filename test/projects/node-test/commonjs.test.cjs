const assert = require('node:assert/strict')
const { test } = require('node:test')
const commonJs = require('holdfast')
const { Holdfast } = require('@holdfast/runtime')
const Circuit = require('@holdfast/compat/opossum')

test('require loads the CommonJS files, import the ECMAScript modules', async () => {
  assert.match(require.resolve('holdfast'), /dist\/cjs\/index\.js$/)
  assert.notEqual((await import('holdfast')).guard, commonJs.guard)
})

test('sessions are found across both forms', async () => {
  const esm = await import('holdfast')
  const call = commonJs.guard({ retry: { maxAttempts: 2, backoffType: 'immediate' } })
  const error = await call.run(() => Promise.reject(new Error('down'))).catch((thrown) => thrown)
  assert.equal(esm.sessionOf(error).attempts.length, 2)
})

test('a guard of one form uses a breaker of the other', async () => {
  const esm = await import('holdfast')
  const breaker = new esm.CircuitBreaker({ id: 'shared' })
  breaker.trip()
  const rejection = await commonJs
    .guard({ breaker })
    .run(() => 1)
    .catch((thrown) => thrown)
  assert.ok(rejection instanceof esm.HoldfastError)
  assert.equal(rejection.code, 'CIRCUIT_OPEN')
})

test('a runtime of one form runs a guard of the other', async () => {
  const esm = await import('holdfast')
  const hf = await Holdfast.open({ config: { version: '1.2.0', store: 'memory' } })
  assert.equal(await hf.run('mail.send', () => esm.guard().run(() => 'sent')), 'sent')
  await hf.close()
})

test('objects of one form are instances of the classes of the other', async () => {
  const { BrokenCircuitError } = require('@holdfast/compat/cockatiel')
  const { AbortError } = require('@holdfast/compat/p-retry')
  const { ProxyConnectionError } = require('@holdfast/proxy')
  const hf = await Holdfast.open({ config: { version: '1.2.0', store: 'memory' } })
  assert.ok(hf instanceof (await import('@holdfast/runtime')).Holdfast)
  await hf.close()
  const cockatiel = await import('@holdfast/compat/cockatiel')
  assert.ok(new BrokenCircuitError() instanceof cockatiel.BrokenCircuitError)
  const proxy = await import('@holdfast/proxy')
  assert.ok(new ProxyConnectionError('down') instanceof proxy.ProxyConnectionError)
  let attempts = 0
  const { default: pRetry } = await import('@holdfast/compat/p-retry')
  const call = pRetry(() => Promise.reject(new AbortError(`attempt ${++attempts}`)), {
    retries: 2,
    minTimeout: 1,
  })
  await assert.rejects(call, /attempt 1/)
  assert.equal(attempts, 1)
})

test('require returns the class of opossum itself, which has its name', async () => {
  assert.equal(Circuit.name, 'CircuitBreaker')
  assert.equal(Circuit.default, Circuit)
  assert.equal(await new Circuit(async (value) => value).fire(1), 1)
  const { default: Imported } = await import('@holdfast/compat/opossum')
  assert.equal(Imported.name, 'CircuitBreaker')
})

test('the policies of cockatiel have the names of their classes', () => {
  const { handleAll, retry, timeout } = require('@holdfast/compat/cockatiel')
  const policies = [handleAll, retry(handleAll, {}), timeout(1, 'aggressive')]
  assert.deepEqual(
    policies.map((policy) => policy.constructor.name),
    ['Policy', 'RetryPolicy', 'TimeoutPolicy'],
  )
})

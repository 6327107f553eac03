const { CircuitBreaker, guard, HoldfastError, sessionOf } = require('holdfast')
const { createFetch } = require('holdfast/http')
const { retry } = require('holdfast/retry')
const { instrument } = require('holdfast/telemetry')
const { resilience } = require('holdfast/undici')
const { createGrpcInterceptor } = require('@holdfast/adapters/grpc')
const { Holdfast } = require('@holdfast/runtime')
const { startProxy } = require('@holdfast/proxy')

test('the packages are loaded as CommonJS', () => {
  expect(require.resolve('holdfast')).toContain('/dist/cjs/')
  for (const loaded of [createFetch, retry, instrument, resilience, createGrpcInterceptor, startProxy])
    expect(typeof loaded).toBe('function')
})

test('a guard retries, and its error has a session', async () => {
  const call = guard({ retry: { maxAttempts: 2, backoffType: 'immediate' } })
  const error = await call.run(() => Promise.reject(new Error('down'))).catch((thrown) => thrown)
  expect(sessionOf(error).attempts).toHaveLength(2)
})

test('an open breaker rejects with an error of the package', async () => {
  const breaker = new CircuitBreaker({ id: 'api' })
  breaker.trip()
  await expect(guard({ breaker }).run(() => 1)).rejects.toBeInstanceOf(HoldfastError)
})

test.each(['memory', 'sqlite'])('a runtime with store %s stores a dead letter', async (store) => {
  const file = require('node:path').join(
    require('node:fs').mkdtempSync(require('node:path').join(require('node:os').tmpdir(), 'holdfast-jest-')),
    'holdfast.db',
  )
  const hf = await Holdfast.open({
    config: {
      version: '1.2.0',
      store: store === 'memory' ? 'memory' : `sqlite:${file}`,
      policies: { default: { maxAttempts: 1 } },
    },
  })
  const call = hf.run('mail.send', () => Promise.reject(new Error('down')), { payload: { to: 'a' } })
  await expect(call).rejects.toThrow('down')
  expect((await hf.deadLetters.list()).items).toHaveLength(1)
  await hf.close()
})

import { fakeClock } from 'holdfast/testing'
import { expect, it } from 'vitest'
import { Holdfast } from '../../src/index.js'

it('no hedge starts while the breaker of the operation is half open', async () => {
  const clock = fakeClock()
  const hf = await Holdfast.open({
    clock,
    config: {
      version: '1.1.0',
      policies: {
        fetch: {
          maxAttempts: 1,
          hedge: { delay: 100, max: 1 },
          enableCircuitBreaker: true,
          circuitBreakerThreshold: 1,
          circuitBreakerTimeout: 1000,
        },
      },
    },
  })
  await hf.run('fetch', () => Promise.reject(new Error('unavailable'))).catch(() => {})
  expect((await hf.breakers.get('policy:fetch'))?.state).toBe('open')
  await clock.advance(1000)

  let calls = 0
  const probe = hf.run('fetch', () => {
    calls++
    return new Promise((resolve) => clock.setTimer(() => resolve('value'), 500))
  })
  await clock.advance(500)
  expect(await probe).toBe('value')
  expect(calls).toBe(1)
  await hf.close()
})

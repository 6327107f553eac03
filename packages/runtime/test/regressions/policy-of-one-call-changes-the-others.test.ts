import { expect, it } from 'vitest'
import { failing, refused, start } from '../holdfast/setup.js'

it('run: the policy fields of one call do not change the breaker of other calls', async () => {
  const { hf } = await start({
    policies: { b: { maxAttempts: 1, enableCircuitBreaker: true, circuitBreakerThreshold: 5 } },
  })
  let calls = 0
  await failing(hf, 'b', () => (calls++, refused()), {
    policy: { id: 'adhoc', name: 'Ad hoc', maxAttempts: 4, backoffType: 'immediate' },
  })
  expect(calls).toBe(4)
  await failing(hf, 'b', refused, { policy: { circuitBreakerThreshold: 1 } })
  expect(await hf.breakers.get('policy:b')).toMatchObject({
    state: 'closed',
    failureThreshold: 5,
    failureCount: 1,
  })
})

import { expect, it } from 'vitest'
import { start } from '../holdfast/setup.js'

it('the total timeout of a policy that applies later begins with the first attempt', async () => {
  const { hf, clock } = await start({
    policies: {
      patient: { maxAttempts: 20, backoffType: 'fixed', baseDelay: 1000 },
      strict: { maxAttempts: 20, backoffType: 'fixed', baseDelay: 1000, totalTimeout: 3000 },
    },
    subsystemMappings: { api: { load: { network_error: 'patient', timeout: 'strict', default: 'patient' } } },
  })
  let attempts = 0
  const call = hf
    .run('api.load', () => {
      attempts++
      throw Object.assign(new Error('unavailable'), { code: attempts < 6 ? 'ECONNRESET' : 'ETIMEDOUT' })
    })
    .catch((error: Error) => error)
  await clock.advance(20_000)
  await call
  expect(attempts).toBe(6)
})

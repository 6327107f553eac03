import { expect, it } from 'vitest'
import { failing, refused, start } from '../holdfast/setup.js'

it('errors: the record of a rejected call has the reason as its kind, and dead letters can skip that kind', async () => {
  const { hf } = await start({
    policies: {
      once: { maxAttempts: 1, enableCircuitBreaker: true, circuitBreakerThreshold: 1 },
    },
    deadLetters: { skipKinds: ['circuit_open'] },
  })
  await failing(hf, 'once', refused)
  await failing(hf, 'once', refused, { payload: 1 })
  const [latest] = (await hf.errors.list()).items
  expect(latest).toMatchObject({ kind: 'circuit_open', severity: 'ERROR' })
  expect((await hf.deadLetters.list()).items).toEqual([])
})

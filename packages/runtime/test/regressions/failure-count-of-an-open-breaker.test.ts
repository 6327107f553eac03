import { expect, it } from 'vitest'
import { failing, refused, start } from '../holdfast/setup.js'

it('breakers: an open breaker keeps the number of failures that opened it when probes fail', async () => {
  const { hf, clock } = await start({
    policies: { once: { maxAttempts: 1 } },
    circuitBreakers: { n: { failureThreshold: 2, timeoutDuration: 1000 } },
  })
  const call = () => failing(hf, 'once', refused, { service: 'n' })
  await call()
  await call()
  for (let probes = 0; probes < 3; probes++) {
    await clock.advance(5000)
    await call()
  }
  expect(await hf.breakers.get('service:n')).toMatchObject({ state: 'open', failureCount: 2 })
})

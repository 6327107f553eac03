import { expect, it } from 'vitest'
import { failing, refused, start } from '../holdfast/setup.js'

it('breakers: a half-open breaker has the time of its opening, and its changes are listed at once', async () => {
  const { hf, clock } = await start({
    policies: { once: { maxAttempts: 1 } },
    circuitBreakers: { n: { failureThreshold: 1, timeoutDuration: 1000, successThreshold: 2 } },
  })
  const opened = new Date(clock.wall())
  await failing(hf, 'once', refused, { service: 'n' })
  expect((await hf.breakers.events()).items).toMatchObject([{ toState: 'open' }])
  await clock.advance(5000)
  await hf.run('once', async () => 1, { service: 'n' })
  expect(await hf.breakers.get('service:n')).toMatchObject({ state: 'half_open', openTimestamp: opened })
})

import { expect, it } from 'vitest'
import { start } from './setup.js'

it('a call that one breaker of its operation rejects releases the probe slot of the other one', async () => {
  const { hf, clock } = await start({
    policies: {
      first: { maxAttempts: 1, circuitBreaker: 'first' },
      limited: { maxAttempts: 1, circuitBreaker: 'limited' },
    },
    subsystemMappings: { api: { get: { rate_limited: 'limited', default: 'first' } } },
    circuitBreakers: {
      first: { timeoutDuration: 1000, halfOpenMax: 1, successThreshold: 1 },
      limited: { timeoutDuration: 3_600_000 },
    },
  })
  const call = () => hf.run('api.get', async () => 'ok')
  for (const id of ['service:first', 'service:limited']) await hf.breakers.trip(id, { by: 'ops' })
  await clock.advance(1000)
  await expect(call()).rejects.toMatchObject({
    code: 'CIRCUIT_OPEN',
    message: expect.stringContaining('limited'),
  })
  expect((await hf.breakers.get('service:first'))?.state).toBe('half_open')
  await hf.breakers.reset('service:limited', { by: 'ops' })
  expect(await call()).toBe('ok')
  expect((await hf.breakers.get('service:first'))?.state).toBe('closed')
})

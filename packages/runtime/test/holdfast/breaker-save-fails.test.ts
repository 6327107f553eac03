import { join } from 'node:path'
import { fakeClock } from 'holdfast/testing'
import { expect, it } from 'vitest'
import { folder, start } from './setup.js'

const config = { circuitBreakers: { n: { timeoutDuration: 60_000, persistState: true } } }

it('saves a breaker on close if the store failed when it opened', async () => {
  const store = `sqlite:${join(await folder(), 'h.db')}`
  const clock = fakeClock({ wall: Date.UTC(2026, 0, 1) })
  const { hf } = await start(config, { store, clock })
  const { breakers } = hf.store
  const save = breakers.save.bind(breakers)
  let failures = 0
  breakers.save = () => {
    failures++
    return Promise.reject(new Error('the store is not available'))
  }
  await hf.breakers.trip('service:n', { by: 'me' })
  await clock.advance(1000)
  expect(failures).toBeGreaterThan(0)
  breakers.save = save
  await hf.close()
  const restarted = await start(config, { store, clock })
  expect(await restarted.hf.breakers.get('service:n')).toMatchObject({ state: 'open' })
})

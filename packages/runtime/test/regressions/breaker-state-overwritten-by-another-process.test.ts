import { join } from 'node:path'
import { expect, it } from 'vitest'
import { failing, folder, refused, start } from '../holdfast/setup.js'

it('breakers: a process that saw no failure does not overwrite the open state that another process stored', async () => {
  const dir = await folder()
  const store = `sqlite:${join(dir, 'h.db')}`
  const config = {
    policies: { once: { maxAttempts: 1 } },
    circuitBreakers: { n: { failureThreshold: 1, timeoutDuration: 60_000, persistState: true } },
  }
  const a = await start(config, { store })
  const b = await start(config, { store })
  await failing(a.hf, 'once', refused, { service: 'n' })
  await a.hf.close()
  await b.hf.close()
  const c = await start(config, { store })
  expect(await c.hf.breakers.get('service:n')).toMatchObject({ state: 'open' })
})

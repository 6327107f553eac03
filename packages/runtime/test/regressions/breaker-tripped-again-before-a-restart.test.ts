import { join } from 'node:path'
import { fakeClock } from 'holdfast/testing'
import { expect, it } from 'vitest'
import { folder, start } from '../holdfast/setup.js'

it('breakers: a breaker that is tripped again while open keeps its new end over a restart', async () => {
  const dir = await folder()
  const store = `sqlite:${join(dir, 'h.db')}`
  const config = { circuitBreakers: { n: { timeoutDuration: 60_000, persistState: true } } }
  const clock = fakeClock({ wall: Date.UTC(2026, 0, 1) })
  const a = await start(config, { store, clock })
  await a.hf.breakers.trip('service:n', { by: 'me' })
  await clock.advance(30_000)
  const { nextTestTime } = await a.hf.breakers.trip('service:n', { by: 'me' })
  expect(nextTestTime).toEqual(new Date(clock.wall() + 60_000))
  await a.hf.close()
  const b = await start(config, { store, clock })
  expect(await b.hf.breakers.get('service:n')).toMatchObject({ state: 'open', nextTestTime })
})

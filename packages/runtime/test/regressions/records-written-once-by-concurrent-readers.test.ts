import { expect, it } from 'vitest'
import { failing, refused, start } from '../holdfast/setup.js'

const QUICK = { policies: { quick: { maxAttempts: 3, backoffType: 'immediate' } } }

it('records: concurrent list calls write each record once', async () => {
  const { hf } = await start(QUICK)
  for (let i = 0; i < 5; i++) await failing(hf, 'quick', refused)
  await Promise.all([
    hf.sessions.list(),
    hf.sessions.list(),
    hf.events.list(),
    hf.events.list(),
    hf.errors.list(),
  ])
  expect((await hf.sessions.list()).items).toHaveLength(5)
  expect((await hf.events.list({ limit: 1000 })).items).toHaveLength(15)
  expect((await hf.errors.list({ limit: 1000 })).items).toHaveLength(15)
})

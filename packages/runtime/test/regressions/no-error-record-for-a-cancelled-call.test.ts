import { expect, it } from 'vitest'
import { failing, refused, start } from '../holdfast/setup.js'

it('errors: a cancelled call has no error record of its own, and its session has the reason', async () => {
  const { hf, clock } = await start({ policies: { slow: { maxAttempts: 3, baseDelay: 1000 } } })
  const call = failing(hf, 'slow', refused)
  await clock.advance(1)
  const [active] = (await hf.sessions.list({ active: true, limit: 1 })).items
  await hf.sessions.cancel(active?.sessionId ?? '')
  await call
  expect((await hf.errors.list()).items).toHaveLength(1)
  const [session] = (await hf.sessions.list()).items
  expect(session?.finalError?.message).toMatch(/was cancelled/)
})

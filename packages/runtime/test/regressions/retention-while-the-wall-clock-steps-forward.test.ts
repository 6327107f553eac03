import { expect, it } from 'vitest'
import { failing, refused, start } from '../holdfast/setup.js'

const QUICK = { policies: { quick: { maxAttempts: 3, backoffType: 'immediate' } } }

it('retention: a step of the wall clock does not delete records', async () => {
  const { hf, clock } = await start({ ...QUICK, deadLetters: { maxAge: 1000 }, sessions: { maxAge: 1000 } })
  await failing(hf, 'quick', refused, { payload: 1 })
  clock.stepWall(365 * 86_400_000)
  const { housekeeping } = (
    hf as unknown as { container: { housekeeping: { enforceRetention(): Promise<void> } } }
  ).container
  await housekeeping.enforceRetention()
  expect((await hf.deadLetters.stats()).total).toBe(1)
  expect((await hf.sessions.list()).items).toHaveLength(1)
  await clock.advance(2000)
  await housekeeping.enforceRetention()
  expect((await hf.deadLetters.stats()).total).toBe(0)
  expect((await hf.sessions.list()).items).toHaveLength(0)
})

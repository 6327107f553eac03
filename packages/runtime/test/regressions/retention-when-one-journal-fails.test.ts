import { expect, it, vi } from 'vitest'
import { failing, refused, start } from '../holdfast/setup.js'

const QUICK = { policies: { quick: { maxAttempts: 3, backoffType: 'immediate' } } }

it('retention: dead letters expire although sessions cannot be deleted', async () => {
  const { hf, clock } = await start({ ...QUICK, deadLetters: { maxAge: 1000 } })
  await failing(hf, 'quick', refused, { payload: 1 })
  await clock.advance(2000)
  const { housekeeping } = (
    hf as unknown as { container: { housekeeping: { enforceRetention(): Promise<void> } } }
  ).container
  vi.spyOn(hf.store.sessions, 'expire').mockRejectedValue(new Error('locked'))
  await expect(housekeeping.enforceRetention()).rejects.toThrow('locked')
  expect((await hf.deadLetters.stats()).total).toBe(0)
})

import { expect, it } from 'vitest'
import { start } from '../holdfast/setup.js'

it('metrics: a call that a bulkhead rejects has a kind, so that the failures of a window add up', async () => {
  const { hf, clock } = await start({
    policies: { narrow: { maxAttempts: 1, bulkhead: { limit: 1, queue: 0 } } },
  })
  let finish = () => {}
  const running = hf.run('narrow', () => new Promise<void>((resolve) => (finish = resolve)))
  await expect(hf.run('narrow', async () => 1)).rejects.toMatchObject({ code: 'BULKHEAD_FULL' })
  finish()
  await running
  const to = new Date(clock.wall() + 1)
  const { failedSessions, failureByReason } = await hf.metrics.window({ from: new Date(0), to })
  expect(failedSessions).toBe(1)
  expect(failureByReason).toEqual({ bulkhead_full: 1 })
})

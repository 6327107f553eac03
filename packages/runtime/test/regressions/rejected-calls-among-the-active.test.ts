import { expect, it } from 'vitest'
import { start } from '../holdfast/setup.js'

const QUICK = { policies: { quick: { maxAttempts: 3, backoffType: 'immediate' } } }

it('run: a call with options that are not valid is rejected and is not counted as active', async () => {
  const { hf } = await start(QUICK)
  const run = hf.run.bind(hf) as unknown as (...args: unknown[]) => Promise<unknown>
  for (const args of [
    ['quick', 'nope'],
    ['quick', async () => 1, null],
    ['quick', async () => 1, { signal: {} }],
    ['quick', async () => 1, { policy: 7 }],
    ['quick', async () => 1, { policy: { maxAttemps: 2 } }],
    ['quick', async () => 1, { policy: { maxAttempts: 'many' } }],
    ['', async () => 1],
  ])
    await expect(run(...args)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  expect((await hf.health()).activeSessions).toBe(0)
})

import { expect, it } from 'vitest'
import { guard } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

it('a probe that ends with its attempt timeout counts as a failure although time passes between its lease and its start', async () => {
  const still = fakeClock()
  let moments = 0
  // As on a machine, each reading of the clock is a little later than the one before.
  const clock = { ...still, now: () => still.now() + ++moments / 1000 }
  const kept = guard({ clock, retry: false, breaker: { timeoutDuration: 1000 }, timeout: { attempt: 100 } })
  kept.breaker?.trip()
  await still.advance(1000)
  const test = kept.run(() => new Promise<never>(() => {})).catch((error: { code: string }) => error.code)
  await still.advance(200)
  expect(await test).toBe('ATTEMPT_TIMEOUT')
  expect(kept.breaker?.state).toBe('open')
})

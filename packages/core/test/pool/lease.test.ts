import { expect, it } from 'vitest'
import { guard, Pool } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

it('a test of a member that its attempt timeout ends is a failure though a moment passes between lease and start', async () => {
  const still = fakeClock()
  let moments = 0
  // As on a machine, each reading of the clock is a little later than the one before.
  const clock = { ...still, now: () => still.now() + ++moments / 1000 }
  const pool = new Pool({
    id: 'p',
    members: [{ id: 'a', value: 1 }],
    breaker: { timeoutDuration: 1000 },
    clock,
  })
  pool.breaker('a').trip()
  await still.advance(1001)
  const test = guard({ clock, retry: false, pool, timeout: { attempt: 100 } })
    .run(() => new Promise<never>(() => {}))
    .catch((error: { code: string }) => error.code)
  await still.advance(200)
  expect(await test).toBe('ATTEMPT_TIMEOUT')
  expect(pool.breaker('a').state).toBe('open')
})

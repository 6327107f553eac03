import { expect, it } from 'vitest'
import { guard, Pool } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

it('a probe of a pool member that ends by the attempt timeout is a failure although time passes between lease and start', async () => {
  const fake = fakeClock()
  let readings = 0
  // As on a real machine, each reading of the clock is slightly later than the previous one.
  const clock = { ...fake, now: () => fake.now() + ++readings / 1000 }
  const pool = new Pool({
    id: 'p',
    members: [{ id: 'a', value: 1 }],
    breaker: { timeoutDuration: 1000 },
    clock,
  })
  pool.breaker('a').trip()
  await fake.advance(1001)
  const probe = guard({ clock, retry: false, pool, timeout: { attempt: 100 } })
    .run(() => new Promise<never>(() => {}))
    .catch((error: { code: string }) => error.code)
  await fake.advance(200)
  expect(await probe).toBe('ATTEMPT_TIMEOUT')
  expect(pool.breaker('a').state).toBe('open')
})

import { expect, it } from 'vitest'
import { guard, HoldfastError, Pool } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

it('an abort by the caller with a timeout error does not count against hedged members', async () => {
  const clock = fakeClock()
  const pool = new Pool({ id: 'p', members: [{ id: 'a', value: 1 }], clock })
  const api = guard({ pool, hedge: { delay: 1000 }, retry: false, clock })
  const controller = new AbortController()
  const call = api.run(() => new Promise<never>(() => {}), { signal: controller.signal }).catch(() => {})
  await clock.advance(1)
  controller.abort(new HoldfastError('ATTEMPT_TIMEOUT', 'the outer guard ended'))
  await call
  expect(pool.stats('a')?.failureCount).toBe(0)
})

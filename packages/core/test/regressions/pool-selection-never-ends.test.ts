import { expect, it } from 'vitest'
import type { BreakerCoordinator } from '../../src/breaker/coordinator.js'
import { guard, Pool } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

/** More readings of the clock than any selection needs. An endless selection fails in place of hanging. */
const MAX_READINGS = 1000

it('a selection ends when a probe becomes due while the coordinator postpones it', async () => {
  const fake = fakeClock()
  let slowness = 0
  let readings = 0
  const clock = {
    ...fake,
    now: () => {
      if (++readings > MAX_READINGS) throw new Error('the selection does not end')
      return fake.now() + slowness
    },
  }
  const pool = new Pool({
    id: 'p',
    clock,
    members: [{ id: 'a', value: 1 }],
    breaker: { failureThreshold: 1, timeoutDuration: 1000 },
  })
  pool.breaker('a').trip()
  await fake.advance(1000)
  // Another node may probe until 20 ms from now, and this process is stopped for longer than that while it finds out.
  pool.breaker('a').coordinator = {
    isProbeWanted: false,
    probeAllowedAt: (_lease, now) => {
      slowness += 50
      return now + 20
    },
    onProbeStarted() {},
    onProbeEnded() {},
    onResult() {},
    onCommand() {},
  } satisfies BreakerCoordinator
  readings = 0
  await expect(guard({ pool, retry: false }).run(() => 'up')).rejects.toMatchObject({
    code: 'POOL_UNAVAILABLE',
  })
})

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openStore } from '../../../store/src/open/open-store.js'
import { Metrics } from '../../src/metrics/metrics.js'
import { HOUR, handClock } from './setup.js'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holdfast-metrics-'))
})
afterEach(() => rm(dir, { recursive: true, force: true }))

it.each(['memory', 'files:data', 'sqlite:data/holdfast.db'])(
  'metrics are saved to and read from %s',
  async (url) => {
    const clock = handClock()
    const store = await openStore(url, { dir })
    try {
      const first = new Metrics(clock)
      for (let hour = 0; hour < 5; hour++) {
        for (const policy of ['a', 'b:c', '../d']) {
          const line = first.recorderFor(policy, 'sub')
          for (let i = 0; i < 50; i++) line.recordFirstAttemptSuccess(clock.time)
          line.recordAttempt(false, 20, 'timeout')
          line.recordAttempt(true, 30)
          line.recordCallEnd({ success: true, attempts: 2, duration: 60 })
          first.recordMemberAttempt('pool', policy, true, 30)
        }
        await first.save(store.metrics, 'n1')
        clock.time += HOUR
      }
      const second = new Metrics(clock)
      await second.load(store.metrics, 'n2')
      expect(second.summary()).toEqual(first.summary())
      expect(second.timeseries()).toEqual(first.timeseries())
      expect(await second.byMember()).toEqual(await first.byMember())
      const all = { from: new Date(0), to: new Date(clock.wall() + HOUR) }
      expect(second.window(all)).toEqual(first.window(all))
      expect(second.window(all).totalSessions).toBe(765)
    } finally {
      await store.close()
    }
  },
)

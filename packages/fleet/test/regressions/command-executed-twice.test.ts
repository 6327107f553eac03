import { CircuitBreaker } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { FleetBreaker, type FleetBreakerParts } from '../../src/fleet-breaker.js'
import type { RedisConnection } from '../../src/redis-connection.js'

// A client or a proxy can send a command again whose reply was lost. Redis then makes the change twice, and the node gets the reply
// of the first. It ignored the message about the second, because it had made that change itself, and kept an old epoch.

const view = (epoch: number) => ({
  id: 'api',
  node: 'n1',
  epoch,
  state: 'closed' as const,
  left: 0,
  openFor: 0,
  openings: 0,
  failures: 0,
  off: false,
})

describe('a command that Redis executed twice', () => {
  it('leaves its node in the last epoch', async () => {
    const clock = fakeClock()
    const replies = [view(10), view(11)]
    const redis = {
      isUp: true,
      run: async () => JSON.stringify(replies.shift()),
    } as unknown as RedisConnection
    const ignore = () => {}
    const parts: FleetBreakerParts = {
      redis,
      node: 'n1',
      liveNodes: () => 1,
      countNodes: async () => 1,
      onSynced: ignore,
      onSettingsFound: async () => {},
      onOpenSince: ignore,
      onInvalidReply: (problem) => expect.unreachable(problem),
    }
    const breaker = new CircuitBreaker({ id: 'api', clock })
    const link = new FleetBreaker(breaker, { share: 'state', quorum: 0.5, minimumCalls: 5 }, parts)
    link.onCommand('reset')
    await expect.poll(() => link.epoch).toBe(10)
    link.onChangePublished(view(11))
    await expect.poll(() => link.epoch).toBe(11)
    link.close()
  })
})

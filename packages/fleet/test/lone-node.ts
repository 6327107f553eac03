import { fakeClock } from 'holdfast/testing'
import { expect } from 'vitest'
import { StoreBackedContext } from '../../runtime/src/context/store-backed-context.js'
import { memoryStore } from '../../store/src/memory/index.js'
import { COUNT_LIVE, type RedisScript } from '../src/lua/scripts.js'
import { FleetMembership } from '../src/membership.js'
import type { RedisConnection } from '../src/redis-connection.js'
import { afterwards } from './setup.js'

export const HEARTBEAT_MS = 1000

/** A node that is connected to a Redis which knows no other nodes. */
export function connectLoneNode() {
  const clock = fakeClock()
  const context = new StoreBackedContext({ clock, random: () => 0, logger: undefined, store: memoryStore() })
  afterwards(() => context.close())
  const redis = {
    isUp: true,
    // One live node, which Redis knows. The reply to a heartbeat ends with the time of Redis.
    run: async (script: RedisScript) => (script === COUNT_LIVE ? [1, 1] : [1, 1, 1]),
    check: async () => {},
  }
  const membership = new FleetMembership(context, redis as unknown as RedisConnection, {
    heartbeat: HEARTBEAT_MS,
    self: () => ({ id: 'n', version: '0.0.0', startedAt: new Date(0), lastSeen: new Date(0), opinions: {} }),
    onForgotten: () => {},
    onHeartbeat: () => {},
    onInvalidReply: (problem) => expect.fail(problem),
  })
  return { clock, redis, membership }
}

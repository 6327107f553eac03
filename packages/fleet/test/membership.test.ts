import { fakeClock } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { StoreBackedContext } from '../../runtime/src/context/store-backed-context.js'
import { memoryStore } from '../../store/src/memory/index.js'
import { COUNT_LIVE, type RedisScript } from '../src/lua/scripts.js'
import { FleetMembership, UNCERTAIN_COUNT } from '../src/membership.js'
import { MAX_RECONNECT_MS, type RedisConnection } from '../src/redis-connection.js'
import { afterwards } from './setup.js'

const HEARTBEAT_MS = 1000

/** A node that is connected to a Redis which knows no other nodes. */
function connect() {
  const clock = fakeClock()
  const context = new StoreBackedContext({ clock, random: () => 0, logger: undefined, store: memoryStore() })
  afterwards(() => context.close())
  const redis = {
    isUp: true,
    // Both replies have the number of live nodes and whether Redis knows this node: 1 and 1.
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

describe('the number of live nodes', () => {
  it('is uncertain until all other nodes have sent a heartbeat', async () => {
    const { clock, membership } = connect()
    await membership.heartbeat()
    await clock.advance(HEARTBEAT_MS - 1)
    expect(await membership.countNodes()).toBe(UNCERTAIN_COUNT)
    await clock.advance(1)
    expect(await membership.countNodes()).toBe(1)
  })

  it('is uncertain after each reconnect until all other nodes can have reconnected', async () => {
    const { clock, redis, membership } = connect()
    await membership.heartbeat()
    for (let losses = 0; losses < 2; losses++) {
      await clock.advance(HEARTBEAT_MS + MAX_RECONNECT_MS)
      expect(await membership.countNodes()).toBe(1)
      redis.isUp = false
      membership.onDisconnected()
      await clock.advance(10 * HEARTBEAT_MS)
      redis.isUp = true
      expect(await membership.countNodes()).toBe(UNCERTAIN_COUNT)
      await membership.heartbeat()
      await clock.advance(HEARTBEAT_MS + MAX_RECONNECT_MS - 1)
      expect(await membership.countNodes()).toBe(UNCERTAIN_COUNT)
      await clock.advance(1)
    }
  })
})

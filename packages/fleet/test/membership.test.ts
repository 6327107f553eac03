import { describe, expect, it } from 'vitest'
import { UNCERTAIN_COUNT } from '../src/membership.js'
import { MAX_RECONNECT_MS } from '../src/redis-connection.js'
import { connectLoneNode, HEARTBEAT_MS } from './lone-node.js'

describe('the number of live nodes', () => {
  it('is uncertain until all other nodes have sent a heartbeat', async () => {
    const { clock, membership } = connectLoneNode()
    await membership.heartbeat()
    await clock.advance(HEARTBEAT_MS - 1)
    expect(await membership.countNodes()).toBe(UNCERTAIN_COUNT)
    await clock.advance(1)
    expect(await membership.countNodes()).toBe(1)
  })

  it('is uncertain after each reconnect until all other nodes can have reconnected', async () => {
    const { clock, redis, membership } = connectLoneNode()
    await membership.heartbeat()
    await clock.advance(HEARTBEAT_MS)
    expect(await membership.countNodes()).toBe(1)
    for (let losses = 0; losses < 2; losses++) {
      redis.isUp = false
      membership.onDisconnected()
      await clock.advance(10 * HEARTBEAT_MS)
      redis.isUp = true
      expect(await membership.countNodes()).toBe(UNCERTAIN_COUNT)
      await membership.heartbeat()
      await clock.advance(HEARTBEAT_MS + MAX_RECONNECT_MS - 1)
      expect(await membership.countNodes()).toBe(UNCERTAIN_COUNT)
      await clock.advance(1)
      expect(await membership.countNodes()).toBe(1)
    }
  })
})

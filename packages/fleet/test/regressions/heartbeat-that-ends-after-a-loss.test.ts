import { expect, it } from 'vitest'
import { ASSUMED_NODES, UNCERTAIN_COUNT } from '../../src/membership.js'
import { connectLoneNode, HEARTBEAT_MS } from '../lone-node.js'

// A node lost Redis by the timeout of one command while its heartbeat was under way, and the reply to the heartbeat arrived after that.
// The node then regarded the number of live nodes as certain. After an outage of more than three heartbeats it counted itself alone,
// and opened a breaker with a quorum for the whole fleet.
it('the reply to a heartbeat that began before a loss of Redis does not make the number of nodes certain', async () => {
  const { clock, redis, membership } = connectLoneNode()
  const heartbeat = membership.heartbeat()
  redis.isUp = false
  membership.onDisconnected()
  await heartbeat
  expect(membership.liveNodes).toBe(ASSUMED_NODES)
  await clock.advance(10 * HEARTBEAT_MS)
  redis.isUp = true
  await membership.heartbeat()
  expect(await membership.countNodes()).toBe(UNCERTAIN_COUNT)
})

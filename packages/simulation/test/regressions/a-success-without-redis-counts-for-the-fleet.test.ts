import { CircuitBreaker } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { expect, it } from 'vitest'
import { createSimulatedRedis } from '../../src/substitutes/redis/server.js'
import { createFleetNode } from '../fleet-node.js'

// A node made a successful probe alone while Redis was not available. The next probe, with a permit of the fleet, was its second success,
// so it closed its breaker. For the fleet it was the first of two: the fleet kept probing, and the node never reported more.

it('keeps probing until the fleet has enough successes', async () => {
  const clock = fakeClock()
  const redis = createSimulatedRedis()
  const breaker = new CircuitBreaker({ id: 'api', timeoutDuration: '30s', successThreshold: 2, clock })
  const { link, connection } = createFleetNode('n1', breaker, redis)
  const fleetState = () => redis.execute(['HGET', 'holdfast:{api}:state', 'state'], clock.wall()).reply
  /** Calls successfully every 100 ms until a call is admitted. */
  const probe = async () => {
    for (let calls = 0; calls < 20; calls++) {
      const permit = breaker.admit()
      permit?.success()
      await clock.advance(100)
      if (permit !== undefined) return
    }
    expect.unreachable('no call was admitted')
  }
  breaker.trip()
  await clock.advance(31_000)
  connection.isUp = false
  await probe()
  expect(breaker.state).toBe('half_open')

  connection.isUp = true
  await link.sync()
  await probe()
  expect([breaker.state, fleetState()]).toEqual(['open', 'half_open'])
  await probe()
  expect([breaker.state, fleetState()]).toEqual(['closed', 'closed'])
  link.close()
})

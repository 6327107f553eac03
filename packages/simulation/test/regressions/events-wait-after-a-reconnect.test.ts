import type { RuntimeContext } from '@holdfast/config'
import type { RetryEvent } from '@holdfast/records'
import { fakeClock } from 'holdfast/testing'
import { expect, it } from 'vitest'
import { FleetCoordinator } from '../../../fleet/src/coordinator.js'
import { ConnectionLostError, type Link } from '../../src/network/link.js'
import { createRedisHost, createSimulatedRedisDriver } from '../../src/substitutes/redis/client.js'
import { createSimulatedRedis } from '../../src/substitutes/redis/server.js'

// An event that waited to be sent when the connection to Redis ended was sent with the next event of the node, however much later that
// was: nothing sent it when Redis was available again. Seed 21 of the simulation found it.

it('sends the events that wait when Redis is available again', async () => {
  const clock = fakeClock({ wall: Date.UTC(2026, 0, 1) })
  const redis = createSimulatedRedis()
  const resets = new Set<() => void>()
  let isReachable = true
  const connect = (): Link => ({
    isOpen: true,
    open: async () => {
      if (!isReachable) throw new ConnectionLostError()
    },
    request: async (execute) => execute(),
    push: () => {},
    close: () => {},
    onReset: (listener) => resets.add(listener),
  })
  const driver = createSimulatedRedisDriver({
    host: createRedisHost(redis, () => clock.wall()),
    clock,
    connect,
  })
  const runtime = { clock, random: () => 0.5, warn: () => {}, emit: () => {} } as unknown as RuntimeContext
  const self = () => ({
    id: 'n1',
    version: '1',
    startedAt: new Date(0),
    lastSeen: new Date(0),
    opinions: {},
  })
  const opening = FleetCoordinator.open('redis://redis.example', runtime, {
    node: 'n1',
    driver,
    self,
  })
  await clock.advance(1000)
  const coordinator = await opening
  coordinator.publish({ eventId: 'evt_1', timestamp: new Date(0), context: {} } as RetryEvent)
  isReachable = false
  for (const reset of resets) reset()
  await clock.advance(5000)
  isReachable = true
  await clock.advance(10_000)
  expect(coordinator.status()).toMatchObject({ up: true, losses: 1 })
  const { reply } = redis.execute(['XRANGE', 'holdfast:events', '-', '+'], clock.wall())
  expect(JSON.stringify(reply)).toContain('evt_1')
  await coordinator.close()
})

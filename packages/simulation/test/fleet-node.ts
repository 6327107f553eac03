import type { CircuitBreaker } from 'holdfast'
import { expect } from 'vitest'
import { FleetBreaker, type FleetBreakerParts } from '../../fleet/src/fleet-breaker.js'
import type { RedisScript } from '../../fleet/src/lua/scripts.js'
import type { RedisConnection } from '../../fleet/src/redis-connection.js'
import type { SimulatedRedis } from '../src/substitutes/redis/server.js'

/** Connects a breaker, as that of one node, with a simulated Redis. `connection.isUp` decides whether the node reaches it. */
export function createFleetNode(node: string, breaker: CircuitBreaker, redis: SimulatedRedis) {
  const { clock } = breaker.settings
  const connection = {
    isUp: true,
    run: async ({ text }: RedisScript, keys: readonly string[], args: readonly (string | number)[]) => {
      if (!connection.isUp) throw new Error('down')
      return redis.execute(['EVAL', text, keys.length, ...keys, ...args], clock.wall()).reply
    },
  }
  const ignore = () => {}
  const parts: FleetBreakerParts = {
    redis: connection as unknown as RedisConnection,
    node,
    liveNodes: () => 2,
    countNodes: async () => 2,
    onSynced: ignore,
    onSettingsFound: async () => {},
    onOpenSince: ignore,
    onInvalidReply: (problem) => expect.unreachable(problem),
  }
  const link = new FleetBreaker(breaker, { share: 'state', quorum: 0.5, minimumCalls: 5 }, parts)
  breaker.coordinator = link
  return { breaker, link, connection }
}

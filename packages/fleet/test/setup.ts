import { CircuitBreaker, type CircuitBreakerOptions } from 'holdfast'
import { systemClock, systemRandom } from 'holdfast/internal'
import { onTestFinished } from 'vitest'
import type { RetryEvent } from '../../records/src/session.js'
import { StoreBackedContext } from '../../runtime/src/context/store-backed-context.js'
import { memoryStore } from '../../store/src/memory/index.js'
import { FleetCoordinator, type FleetCoordinatorOptions } from '../src/coordinator.js'
import { ioredisDriver, type RedisDriver } from '../src/redis-client.js'
import type { ShareOptions } from '../src/shared-settings.js'

/** Runs a cleanup after the test, the last one first. */
export const afterwards = (end: () => Promise<unknown>) => onTestFinished(async () => void (await end()))

export interface TestNode {
  readonly name: string
  readonly state: FleetCoordinator
  readonly events: RetryEvent[]
  add(id: string, share?: Partial<ShareOptions>, options?: CircuitBreakerOptions): Promise<CircuitBreaker>
}

export const SHARE: ShareOptions = { share: 'state', quorum: 0.5, minimumCalls: 5 }

/**
 * Redis without timeouts of connections and commands: a node loses it only when a connection ends or Redis rejects a command. With
 * timeouts a node also loses Redis when another process uses the processor.
 */
export const DRIVER_WITHOUT_TIMEOUTS: RedisDriver = { ...ioredisDriver, afterPendingReads: () => {} }

/** Redis that a node can lose by a timeout, for tests in which it does not reply. */
export const DRIVER_WITH_TIMEOUTS = ioredisDriver

/** A node of a fleet in this process, on the system clock, because Redis has no other. */
export async function node(
  url: string,
  name: string,
  options: Partial<FleetCoordinatorOptions> = {},
): Promise<TestNode> {
  const context = new StoreBackedContext({
    clock: systemClock,
    random: systemRandom,
    logger: undefined,
    store: memoryStore(),
  })
  context.warn = () => {}
  const events: RetryEvent[] = []
  context.bus.on('*', (event) => void events.push(event))
  const breakers = new Map<string, CircuitBreaker>()
  const self = () => {
    const now = new Date(context.clock.wall())
    const opinions = Object.fromEntries(
      [...breakers].flatMap(([id, breaker]) => (breaker.state === 'closed' ? [] : [[id, breaker.state]])),
    )
    return { id: name, version: '0.0.0', startedAt: now, lastSeen: now, opinions }
  }
  const state = await FleetCoordinator.open(url, context, {
    node: name,
    heartbeat: 200,
    driver: DRIVER_WITHOUT_TIMEOUTS,
    self,
    ...options,
  })
  afterwards(async () => {
    await state.close()
    await context.close()
  })
  return {
    name,
    state,
    events,
    async add(id, share, given) {
      const breaker = new CircuitBreaker({ id, failureThreshold: 2, timeoutDuration: 600_000, ...given })
      breakers.set(id, breaker)
      await state.attach(breaker, { ...SHARE, ...share })
      return breaker
    },
  }
}

export function fail(breaker: CircuitBreaker, times: number): void {
  for (let i = 0; i < times; i++) breaker.admit()?.failure()
}

export function succeed(breaker: CircuitBreaker, times: number): void {
  for (let i = 0; i < times; i++) breaker.admit()?.success()
}

/** How often a node has emitted an event. */
export const countEvents = ({ events }: TestNode, type: string) =>
  events.filter(({ eventType }) => eventType === type).length

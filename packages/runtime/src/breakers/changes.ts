import type { BreakerEvent, CircuitBreaker, Pool, PoolEvent } from 'holdfast'
import type { ErrorLog } from '../error-log/error-log.js'
import type { House } from '../house.js'
import type { RetryLog } from '../logging/retry-log.js'
import type { Metrics } from '../metrics/metrics.js'
import type { PoolSet } from '../pools/pools.js'
import type { MemberTarget } from '../pools/target.js'
import type { Telling } from '../sessions/telling.js'
import type { BreakerOwner, BreakerRegistry } from './registry.js'
import type { BreakerSaver } from './saver.js'

/** Those who must hear of a breaker's change. */
export interface ChangeParts {
  house: House
  log: RetryLog
  metrics: Metrics
  errors: ErrorLog
  registry: BreakerRegistry
  pools: PoolSet
  saver: BreakerSaver
  telling: Telling
  /** The breakers that stand before an operation. */
  gates(operation: string): readonly CircuitBreaker[]
  /** The breaker of a pool's member opened: the fleet may want to know. */
  memberOpened(pool: string, member: string, breaker: CircuitBreaker): void
}

const EVENTS = {
  open: 'circuit_breaker_opened',
  closed: 'circuit_breaker_closed',
  half_open: 'circuit_breaker_half_opened',
} as const

/** What a change of a breaker's state is to everything else: records, counts, log lines, and what outlives the process. */
export class BreakerChanges {
  private readonly parts: ChangeParts

  constructor(parts: ChangeParts) {
    this.parts = parts
  }

  /** A breaker of a policy, a service or a decorated method changed. */
  heard(event: BreakerEvent, owner: BreakerOwner, persist: boolean): void {
    const { house, log, metrics, errors, registry, telling, saver, gates } = this.parts
    const { id, toState, failureCount, timestamp } = event
    if (toState === 'open') registry.openings.set(id, timestamp)
    else if (toState === 'closed') registry.openings.delete(id)
    for (const operation of telling.operations())
      if (gates(operation).some((gate) => gate.id === id)) telling.breaker(operation, event)
    metrics.breakerChanged(event)
    house.breakerChanged(event)
    this.emit(event, owner)
    if (toState === 'open') {
      log.opened(id, failureCount)
      errors.opened(event)
    }
    const breaker = registry.get(id)
    if (persist && breaker !== undefined) saver.touch(breaker)
  }

  /** A breaker of a policy that only looks on would have changed. That is told of, and true of nothing. */
  foreseen(event: BreakerEvent, owner: BreakerOwner): void {
    this.emit(event, owner, { shadow: true })
  }

  /** Something changed in a pool: the breaker of a member, or the members themselves. */
  inPool(pool: Pool<MemberTarget>, event: PoolEvent, persist: boolean): void {
    const { house, saver, memberOpened } = this.parts
    if (event.type === 'breaker_changed') {
      const { memberId: member, toState } = event
      this.heard(event, { pool: pool.id, member }, false)
      if (persist) saver.touch(pool.breaker(member))
      if (toState === 'open') memberOpened(pool.id, member, pool.breaker(member))
      return
    }
    const { type: _, timestamp: __, ...facts } = event
    house.emit({ eventType: 'pool_member_changed', component: 'pool', context: { pool: pool.id, ...facts } })
  }

  /** The breakers that outlive the process. */
  *persisted(): Iterable<CircuitBreaker> {
    const { registry, pools } = this.parts
    for (const { breaker, persist } of registry) if (persist) yield breaker
    for (const pool of pools.persisted()) yield* pool.usedBreakers()
  }

  /** Saves those of them that anything happened to. */
  save(): void {
    for (const breaker of this.persisted()) this.parts.saver.look(breaker)
  }

  private emit(
    { id, fromState, toState, failureCount }: BreakerEvent,
    { pool, policyId }: BreakerOwner,
    more: object = {},
  ): void {
    this.parts.house.emit({
      eventType: EVENTS[toState],
      component: pool === undefined ? 'circuit_breaker' : 'pool',
      ...(policyId !== undefined && { policyId }),
      context: { id, fromState, toState, failureCount, ...more },
    })
  }
}

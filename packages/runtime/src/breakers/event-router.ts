import type { BreakerEvent, CircuitBreaker, Pool, PoolEvent } from 'holdfast'
import type { ErrorLog } from '../error-log/error-log.js'
import type { GuardEventEmitter } from '../events/guard-events.js'
import type { RetryLog } from '../logging/retry-log.js'
import type { Metrics } from '../metrics/metrics.js'
import type { PoolManager } from '../pools/pool-manager.js'
import type { MemberTarget } from '../pools/target.js'
import type { StoreBackedContext } from '../store-backed-context.js'
import type { BreakerPersistence } from './persistence.js'
import type { BreakerOwner, BreakerRegistry } from './registry.js'

/** Those who must hear of a breaker's change. */
export interface BreakerEventRouterParts {
  runtime: StoreBackedContext
  log: RetryLog
  metrics: Metrics
  errors: ErrorLog
  registry: BreakerRegistry
  pools: PoolManager
  persistence: BreakerPersistence
  guardEvents: GuardEventEmitter
  /** The breakers that stand before an operation. */
  breakersOf(operation: string): readonly CircuitBreaker[]
  /** The breaker of a pool's member opened: the fleet may want to know. */
  onMemberOpened(pool: string, member: string, breaker: CircuitBreaker): void
}

const EVENT_BY_STATE = {
  open: 'circuit_breaker_opened',
  closed: 'circuit_breaker_closed',
  half_open: 'circuit_breaker_half_opened',
} as const

/** What a change of a breaker's state is to everything else: records, counts, log lines, and what outlives the process. */
export class BreakerEventRouter {
  private readonly parts: BreakerEventRouterParts

  constructor(parts: BreakerEventRouterParts) {
    this.parts = parts
  }

  /** A breaker of a policy, a service or a decorated method changed. */
  onChange(event: BreakerEvent, owner: BreakerOwner, persist: boolean): void {
    const { runtime, log, metrics, errors, registry, guardEvents, persistence, breakersOf } = this.parts
    const { id, toState, failureCount, timestamp } = event
    if (toState === 'open') registry.openedAt.set(id, timestamp)
    else if (toState === 'closed') registry.openedAt.delete(id)
    for (const operation of guardEvents.observedOperations())
      if (breakersOf(operation).some((gate) => gate.id === id)) guardEvents.emitBreakerEvent(operation, event)
    metrics.recordBreakerChange(event)
    runtime.recordBreakerChange(event)
    this.emit(event, owner)
    if (toState === 'open') {
      log.logBreakerOpened(id, failureCount)
      errors.recordOpening(event)
    }
    const breaker = registry.get(id)
    if (persist && breaker !== undefined) persistence.scheduleSave(breaker)
  }

  /** A breaker of a policy that only looks on would have changed. That is told of, and true of nothing. */
  onShadowChange(event: BreakerEvent, owner: BreakerOwner): void {
    this.emit(event, owner, { shadow: true })
  }

  /** Something changed in a pool: the breaker of a member, or the members themselves. */
  onPoolEvent(pool: Pool<MemberTarget>, event: PoolEvent, persist: boolean): void {
    const { runtime, persistence, onMemberOpened } = this.parts
    if (event.type === 'breaker_changed') {
      const { memberId: member, toState } = event
      this.onChange(event, { pool: pool.id, member }, false)
      if (persist) persistence.scheduleSave(pool.breaker(member))
      if (toState === 'open') onMemberOpened(pool.id, member, pool.breaker(member))
      return
    }
    const { type: _, timestamp: __, ...facts } = event
    runtime.emit({
      eventType: 'pool_member_changed',
      component: 'pool',
      context: { pool: pool.id, ...facts },
    })
  }

  /** The breakers that outlive the process. */
  *persistedBreakers(): Iterable<CircuitBreaker> {
    const { registry, pools } = this.parts
    for (const { breaker, persist } of registry) if (persist) yield breaker
    for (const pool of pools.persistedPools()) yield* pool.usedBreakers()
  }

  /** Saves those of them that anything happened to. */
  saveChanged(): void {
    for (const breaker of this.persistedBreakers()) this.parts.persistence.saveIfChanged(breaker)
  }

  private emit(
    { id, fromState, toState, failureCount }: BreakerEvent,
    { pool, policyId }: BreakerOwner,
    more: object = {},
  ): void {
    this.parts.runtime.emit({
      eventType: EVENT_BY_STATE[toState],
      component: pool === undefined ? 'circuit_breaker' : 'pool',
      ...(policyId !== undefined && { policyId }),
      context: { id, fromState, toState, failureCount, ...more },
    })
  }
}

import type { BreakerEvent, CircuitBreaker, PoolEvent } from 'holdfast'
import type { StoreBackedContext } from '../context/store-backed-context.js'
import type { ErrorLog } from '../error-log/error-log.js'
import type { GuardEventEmitter } from '../events/guard-events.js'
import type { RetryLog } from '../logging/retry-log.js'
import type { Metrics } from '../metrics/metrics.js'
import { type BreakerOwner, breakerId } from './breaker-id.js'
import { breakerEventRecord } from './breaker-records.js'
import type { BreakerPool, BreakerPools } from './member-breakers.js'
import type { BreakerPersistence } from './persistence.js'
import type { BreakerRegistry } from './registry.js'

/** The parts that a breaker's state change affects. */
export interface BreakerEventRouterParts {
  runtime: StoreBackedContext
  log: RetryLog
  metrics: Metrics
  errors: ErrorLog
  registry: BreakerRegistry
  pools: BreakerPools
  persistence: BreakerPersistence
  guardEvents: GuardEventEmitter
  /** The breaker of a pool member opened. */
  onMemberOpened(pool: string, member: string, breaker: CircuitBreaker): void
}

const EVENT_BY_STATE = {
  open: 'circuit_breaker_opened',
  closed: 'circuit_breaker_closed',
  half_open: 'circuit_breaker_half_opened',
} as const

/** Passes state changes of breakers on to records, metrics, the log, events and the store. */
export class BreakerEventRouter {
  private readonly parts: BreakerEventRouterParts

  constructor(parts: BreakerEventRouterParts) {
    this.parts = parts
  }

  /** The breaker of a policy, a service or a decorated method changed its state. */
  onChange(event: BreakerEvent, owner: BreakerOwner, shouldPersist: boolean): void {
    const { runtime, log, metrics, errors, registry, guardEvents, persistence } = this.parts
    const { id, fromState, toState, failureCount, timestamp } = event
    if (toState === 'open') {
      const failures = fromState === 'closed' ? failureCount : registry.openings.get(id)?.failures
      registry.openings.set(id, { at: timestamp, failures })
    } else if (toState === 'closed') registry.openings.delete(id)
    guardEvents.emitBreakerEvent(event)
    metrics.recordBreakerChange(event)
    runtime.breakerEvents.add(breakerEventRecord(event))
    this.emit(event, owner)
    if (toState === 'open') {
      log.logBreakerOpened(id, failureCount)
      errors.recordOpening(event)
    }
    const breaker = registry.get(id)
    if (shouldPersist && breaker !== undefined) persistence.scheduleSave(breaker)
  }

  /** The breaker of a policy in shadow mode changed its state. Only an event reports it, because no call is affected. */
  onShadowChange(event: BreakerEvent, owner: BreakerOwner): void {
    this.emit(event, owner, { shadow: true })
  }

  /** A pool changed: the breaker of a member, or the members. */
  onPoolEvent(pool: BreakerPool, event: PoolEvent, shouldPersist: boolean): void {
    const { runtime, registry, persistence, onMemberOpened } = this.parts
    switch (event.type) {
      case 'breaker_changed': {
        const { memberId: member, toState } = event
        this.onChange(event, { pool: pool.id, member }, false)
        if (shouldPersist) persistence.scheduleSave(pool.breaker(member))
        if (toState === 'open') onMemberOpened(pool.id, member, pool.breaker(member))
        return
      }
      case 'member_changed':
      case 'network_changed': {
        const { type: _, timestamp: __, ...facts } = event
        if (event.type === 'member_changed' && event.change === 'removed')
          registry.openings.delete(breakerId({ pool: pool.id, member: event.memberId }))
        runtime.emit({
          eventType: 'pool_member_changed',
          component: 'pool',
          context: { pool: pool.id, ...facts },
        })
        return
      }
      default:
        event satisfies never // an event without a case does not compile
    }
  }

  /** The breakers whose state is saved. */
  *persistedBreakers(): Iterable<CircuitBreaker> {
    const { registry, pools } = this.parts
    for (const { breaker, persist } of registry) if (persist) yield breaker
    for (const pool of pools.persistedPools()) yield* pool.usedBreakers()
  }

  /** Saves those of them that have changed. */
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

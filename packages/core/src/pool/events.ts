import type { BreakerEvent } from '../breaker/breaker.js'

/** A member was added, removed, drained or enabled, or its cooldown started (`rested`). */
export interface MemberChangedEvent {
  readonly type: 'member_changed'
  readonly change: 'added' | 'removed' | 'drained' | 'enabled' | 'rested'
  readonly memberId: string
  /** The time of the change in epoch milliseconds. */
  readonly timestamp: number
  /** The duration of the cooldown in milliseconds. */
  readonly retryAfter?: number
}

/** The breaker of a member changed its state. */
export interface MemberBreakerEvent extends BreakerEvent {
  readonly type: 'breaker_changed'
  readonly memberId: string
}

/** The pool concluded that the local network is down or up again. */
export interface NetworkChangedEvent {
  readonly type: 'network_changed'
  readonly down: boolean
  /** The time of the change in epoch milliseconds. */
  readonly timestamp: number
}

/** An event that a pool emits to its listeners. */
export type PoolEvent = MemberChangedEvent | MemberBreakerEvent | NetworkChangedEvent

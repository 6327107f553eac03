import type { BreakerEvent } from '../breaker/breaker.js'

/** A member was added, removed, drained or enabled, or its cooldown started (`rested`). */
export interface MemberChangedEvent {
  /** Identifies the kind of event. */
  readonly type: 'member_changed'
  /** The change of the member. */
  readonly change: 'added' | 'removed' | 'drained' | 'enabled' | 'rested'
  /** The id of the member. */
  readonly memberId: string
  /** The time of the change in epoch milliseconds. */
  readonly timestamp: number
  /** The duration of the cooldown in milliseconds. */
  readonly retryAfter?: number
}

/** The breaker of a member changed its state. */
export interface MemberBreakerEvent extends BreakerEvent {
  /** Identifies the kind of event. */
  readonly type: 'breaker_changed'
  /** The id of the member. */
  readonly memberId: string
}

/** The pool concluded that the local network is down or up again. */
export interface NetworkChangedEvent {
  /** Identifies the kind of event. */
  readonly type: 'network_changed'
  /** Whether the local network is down. */
  readonly down: boolean
  /** The time of the change in epoch milliseconds. */
  readonly timestamp: number
}

/** An event that a pool emits to its listeners. */
export type PoolEvent = MemberChangedEvent | MemberBreakerEvent | NetworkChangedEvent

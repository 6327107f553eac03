import type { BreakerEvent } from '../breaker/breaker.js'

/** A member came, went, was drained or enabled, or rests because it was asked to. */
export interface MemberChangedEvent {
  readonly type: 'member_changed'
  readonly change: 'added' | 'removed' | 'drained' | 'enabled' | 'rested'
  readonly memberId: string
  /** When, in epoch milliseconds. */
  readonly timestamp: number
  /** How long it rests, in milliseconds. */
  readonly retryAfter?: number
}

/** The breaker of a member changed its state. */
export interface MemberBreakerEvent extends BreakerEvent {
  readonly type: 'breaker_changed'
  readonly memberId: string
}

/** The local network went down, as far as the pool can tell, or came back. */
export interface NetworkChangedEvent {
  readonly type: 'network_changed'
  readonly down: boolean
  /** When, in epoch milliseconds. */
  readonly timestamp: number
}

/** What a pool tells its listeners. */
export type PoolEvent = MemberChangedEvent | MemberBreakerEvent | NetworkChangedEvent

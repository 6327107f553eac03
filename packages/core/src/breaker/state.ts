/** The state of a breaker. It stays `open` after the open time until a probe is admitted. */
export type BreakerState = 'closed' | 'open' | 'half_open'

export const BREAKER_STATES = ['closed', 'open', 'half_open'] as const satisfies readonly BreakerState[]

/** A state change of a breaker. */
export interface BreakerEvent {
  /** The breaker's id. */
  readonly id: string
  /** The previous state. */
  readonly fromState: BreakerState
  /** The new state. */
  readonly toState: BreakerState
  /** The time of the change, in epoch milliseconds. */
  readonly timestamp: number
  /** The number of failures that caused the change; 0 when the breaker closes. */
  readonly failureCount: number
}

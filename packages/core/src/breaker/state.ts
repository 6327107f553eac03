/** Where a breaker stands. An open one whose time is up reads `open` until a caller is admitted. */
export type BreakerState = 'closed' | 'open' | 'half_open'

/** What a breaker tells its listeners when its state changes. */
export interface BreakerEvent {
  /** The breaker's id. */
  readonly id: string
  /** The state it left. */
  readonly fromState: BreakerState
  /** The state it is in now. */
  readonly toState: BreakerState
  /** When, in epoch milliseconds. */
  readonly timestamp: number
  /** The failures that led there; 0 when it closes. */
  readonly failureCount: number
}

import type {
  CircuitBreakerState,
  DeadLetter,
  Explanation,
  RetryAttempt,
  RetryEvent,
  RetryPolicy,
  RetrySession,
  Wire,
} from '@holdfast/runtime'

/** The responses of the API that the commands and the dashboard read, as on the wire. */
export type WireAttempt = Wire<RetryAttempt>
export type WireBreaker = Wire<CircuitBreakerState>
export type WireDeadLetter = Wire<DeadLetter>
export type WireEvent = Wire<RetryEvent>
export type WireExplanation = Wire<Explanation>
export type WirePolicy = Wire<RetryPolicy>
export type WireSession = Wire<RetrySession>

/** The counts of dead letters that match a filter, as on the wire. */
export interface WireCount {
  total: number
  by_status: Record<WireDeadLetter['status'], number>
  counted_at: string
}

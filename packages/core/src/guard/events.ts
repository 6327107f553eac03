import type { BreakerEvent } from '../breaker/breaker.js'
import type { StopReason } from '../retry/decide.js'

interface CallEvent {
  /** The guard's name. */
  readonly name: string | undefined
  /** When, in epoch milliseconds. */
  readonly timestamp: number
  /** The number of the attempt it is about. */
  readonly attempt: number
  /** The call's context. */
  readonly context: unknown
}

interface Failure {
  /** What the attempt threw. */
  readonly error?: unknown
  /** The value that `retryIf` does not want. */
  readonly value?: unknown
}

/** An attempt failed, or brought a value that `retryIf` does not want. */
export interface AttemptFailedEvent extends CallEvent, Failure {
  readonly type: 'attempt_failed'
  /** How long it took, in milliseconds. */
  readonly duration: number
  /** The pool's member it went to. */
  readonly memberId?: string
}

/** Another attempt was scheduled; `attempt` is the coming one. */
export interface RetryScheduledEvent extends CallEvent, Failure {
  readonly type: 'retry_scheduled'
  /** How many attempts there may be in all. */
  readonly maxAttempts: number
  /** The wait before it, in milliseconds. */
  readonly delay: number
}

/** The call succeeded. */
export interface SucceededEvent extends CallEvent {
  readonly type: 'succeeded'
}

/** The call ended without success; what a fallback makes of it comes after. */
export interface GaveUpEvent extends CallEvent, Failure {
  readonly type: 'gave_up'
  /** Why it ended. */
  readonly stopped: StopReason
}

/** The guard's breaker, or one of them, changed its state. */
export interface BreakerChangedEvent extends BreakerEvent {
  readonly type: 'breaker_changed'
}

/** What a guard tells its listeners. */
export type GuardEvent =
  | AttemptFailedEvent
  | RetryScheduledEvent
  | SucceededEvent
  | GaveUpEvent
  | BreakerChangedEvent

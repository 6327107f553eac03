import type { BreakerEvent } from '../breaker/breaker.js'
import type {
  AttemptFailedEvent,
  GaveUpEvent,
  RetryScheduledEvent,
  SucceededEvent,
} from '../execution/events.js'

/** The state of the guard's breaker, or of one of its keyed breakers, changed. */
export interface BreakerChangedEvent extends BreakerEvent {
  /** Identifies the kind of event. */
  readonly type: 'breaker_changed'
}

/** An event of a guard. */
export type GuardEvent =
  | AttemptFailedEvent
  | RetryScheduledEvent
  | SucceededEvent
  | GaveUpEvent
  | BreakerChangedEvent

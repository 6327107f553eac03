import type { StopReason } from '../retry/stop-reason.js'
import type { Executor } from './executor.js'

interface CallEvent {
  /** The guard's name. */
  readonly name: string | undefined
  /** The time of the event, in epoch milliseconds. */
  readonly timestamp: number
  /** The number of the attempt. */
  readonly attempt: number
  /** The call's context. */
  readonly context: unknown
}

interface Failure {
  /** The error that the attempt threw. */
  readonly error?: unknown
  /** The value that `retryIf` rejected. */
  readonly value?: unknown
}

/** An attempt failed, or returned a value that `retryIf` rejected. */
export interface AttemptFailedEvent extends CallEvent, Failure {
  /** Identifies the kind of event. */
  readonly type: 'attempt_failed'
  /** The duration of the attempt, in milliseconds. */
  readonly duration: number
  /** The pool member that the attempt was sent to. */
  readonly memberId?: string
}

/** A retry was scheduled; `attempt` is the number of the next attempt. */
export interface RetryScheduledEvent extends CallEvent, Failure {
  /** Identifies the kind of event. */
  readonly type: 'retry_scheduled'
  /** The maximum number of attempts of the call. */
  readonly maxAttempts: number
  /** The delay before the next attempt, in milliseconds. */
  readonly delay: number
}

/** The call succeeded. */
export interface SucceededEvent extends CallEvent {
  /** Identifies the kind of event. */
  readonly type: 'succeeded'
}

/** The call ended without success. A fallback runs after this event. */
export interface GaveUpEvent extends CallEvent, Failure {
  /** Identifies the kind of event. */
  readonly type: 'gave_up'
  /** Why the call ended. */
  readonly stopped: StopReason
}

/** An event of one call. */
export type ExecutionEvent = AttemptFailedEvent | RetryScheduledEvent | SucceededEvent | GaveUpEvent

/** Emits an event of a call to the listeners of its guard. `fields` are those that only this type of event has. */
export function emitEvent(
  { listeners, settings }: Executor,
  type: ExecutionEvent['type'],
  attempt: number,
  context: unknown,
  fields: object,
): void {
  const { name, clock } = settings
  listeners.emit({ type, name, timestamp: clock.wall(), attempt, context, ...fields } as ExecutionEvent)
}

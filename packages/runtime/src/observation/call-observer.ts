import type { ErrorSummary } from '@holdfast/records'
import type { StopReason } from 'holdfast'
import type { CallOptions } from '../api-types.js'
import type { FailedAttemptInfo, FailingCall, ObservedCall } from './observed-call.js'

/** How a call ended that failed at least once. */
export interface CallEnd {
  readonly stopped: StopReason
  /** The value of a successful call or of one that ended with an unwanted value, else the error. */
  readonly result: unknown
  readonly isSuccess: boolean
  /** Whether the last attempt was rejected before it started, by a breaker, bulkhead or pool. */
  readonly isRejected: boolean
  /** Whether the call was rejected and is only counted, because another one was recorded in the same second. */
  readonly isShed: boolean
  /** When the call ended, in epoch milliseconds. */
  readonly at: number
  readonly attempts: number
  readonly retryCount: number
  readonly durationMs: number
  /** The failure that ended the call; undefined where an earlier notification already reported it. */
  readonly failure: FailedAttemptInfo | undefined
  /** `fallback` if the fallback returned a value, which the caller gets instead of the error. */
  readonly served: 'fallback' | undefined
  /** Whether `beforeFallback` has already reported the failure. */
  readonly hasRunFallback: boolean
  /** The summary of the call's error; undefined after a success or an unwanted value. */
  readonly error: ErrorSummary | undefined
}

/**
 * Is notified of what happens to the calls of a runtime. Sessions, metrics, error records, events, log lines, shadow mode and
 * dead letters each implement it, and the composition root lists them in the order of their effects. An observer that throws
 * is reported; the call and the other observers continue.
 */
export interface CallObserver {
  /** A call succeeded with its first attempt. This hook is on the fast path: it must neither throw nor allocate. */
  onFirstAttemptSuccess?(
    operation: ObservedCall['operation'],
    options: CallOptions<unknown> | undefined,
    startedAt: number,
  ): void
  /** The same, after it, where the call needed an execution: it has breakers, a pool, listeners or a signal. */
  onSuccess?(call: ObservedCall): void
  /** An attempt failed. It is not yet decided whether it is retried. */
  onAttemptFailed?(call: FailingCall, failure: FailedAttemptInfo): void
  /** The failed attempt is retried after `delayMs`. */
  onRetryScheduled?(call: FailingCall, failure: FailedAttemptInfo | undefined, delayMs: number): void
  /** A call failed, and its fallback runs now. `onEnd` follows when the fallback has settled. */
  beforeFallback?(call: ObservedCall, stopped: StopReason, error: unknown): void
  /** A call ended that failed at least once. */
  onEnd?(call: FailingCall, end: CallEnd): void
  /** Follows `onEnd` of all observers after a failure that no fallback answered. The caller gets the error when the returned promise has settled. */
  beforeRejection?(call: FailingCall, end: CallEnd): PromiseLike<unknown> | undefined
}

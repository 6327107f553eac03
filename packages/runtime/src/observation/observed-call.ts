import type { ErrorSummary, RetryPolicy } from '@holdfast/records'
import type { AttemptRecord, Classification, Member, StopReason } from 'holdfast'
import type { CompiledRetryPolicy } from 'holdfast/internal'
import type { CallOptions } from '../api-types.js'
import type { DeadLetterSource } from '../request-call.js'

/** The counters of one operation, updated on the path of every call. */
export interface OperationMetrics {
  /** A call succeeded with its first attempt. */
  recordFirstAttemptSuccess(startedAt: number): void
  /** Any other attempt ended. */
  recordAttempt(ok: boolean, duration: number | undefined, kind?: string): void
  /** A call ended that failed at least once. `kind` is set where the failure was a rejection and not an attempt. */
  recordCallEnd(facts: {
    success: boolean
    attempts: number
    duration: number
    policyIds: readonly string[]
    kind?: string | undefined
    /** Whether the call was rejected before its first attempt. */
    isRejected?: boolean | undefined
  }): void
}

/** The data of a call that failed at least once, from which its records are made. */
export interface SessionDraft {
  readonly sessionId: string
  readonly correlationId: string
  readonly startTime: Date
  /** The policy of the last decision. */
  policyId: string
  /** All policies that made a decision, each once. */
  readonly policyIds: string[]
  /** The kind of the last failure. */
  kind: string
  /** The redacted summary of each attempt's error, so that each error is searched for secrets once. */
  readonly summaries: Map<unknown, ErrorSummary>
  /** The call's redacted context. */
  readonly context: Record<string, unknown> | undefined
  /** When the next attempt starts, in epoch milliseconds. */
  nextRetryTime: number | undefined
}

/** A failed attempt: its error, the classification and the summary for records. */
export interface FailedAttemptInfo {
  readonly error: unknown
  /** The value of an attempt that did not throw. */
  readonly value?: unknown
  readonly classification: Classification | undefined
  readonly summary: ErrorSummary
  /** Whether the attempt returned a value that `retryIf` rejects, and did not throw. */
  readonly isUnwantedValue?: boolean
}

/** The decision that a policy in shadow mode would have made for a call. */
export interface ShadowDecision {
  readonly policyId: string
  /** The number of the attempt that the decision is about. */
  readonly attempt: number
  readonly maxAttempts: number
  /** The delay before the next attempt, or why there would have been none. */
  readonly next: number | StopReason
  /** The error with which the attempt would have failed. */
  readonly error: unknown
  /** Whether the attempt did fail with that error; false where the policy would have rejected it or timed it out. */
  readonly isActualError: boolean
}

/** A call that is running, and its neighbours in the list of active calls. */
interface ListedCall {
  prevCall: ActiveCall | undefined
  nextCall: ActiveCall | undefined
  /** Ends the call at once with CANCELLED. */
  cancel(message: string): void
}

/** A call in its first attempt, about which nothing has been recorded. */
export interface UnrecordedCall extends ListedCall {
  readonly draft: undefined
}

/** A call as observers see it. */
export interface ObservedCall extends ListedCall {
  readonly operation: {
    readonly name: string
    readonly subsystem: string | undefined
    readonly metrics: OperationMetrics
  }
  readonly options: CallOptions<unknown> | undefined
  /** Creates the dead letter of a request that fails; a call of another kind has its payload in its options. */
  readonly deadLetter?: DeadLetterSource | undefined
  /** The policy that applies now. */
  readonly effectivePolicy: { readonly record: RetryPolicy; readonly policy: CompiledRetryPolicy }
  readonly maxAttempts: number
  /** The number of the last attempt. */
  readonly number: number
  /** When the last attempt started, on the monotonic clock. */
  readonly startedAt: number
  /** The pool member of the last attempt. */
  readonly member: Member | undefined
  /** The records of the attempts so far. */
  readonly history: readonly AttemptRecord[]
  /** Created with the first failure. */
  draft: SessionDraft | undefined
  /** The last failure, until it is decided whether it is retried. */
  pending: FailedAttemptInfo | undefined
  /** Returns the last decision of a policy in shadow mode, once. */
  takeShadowDecision(): ShadowDecision | undefined
}

/** A call that failed at least once. */
export type FailingCall = ObservedCall & { draft: SessionDraft }

export type ActiveCall = UnrecordedCall | ObservedCall

/** The operation's name in records: the name that the call gave itself, else the operation. */
export const recordedName = ({
  operation,
  options,
}: Pick<ObservedCall, 'options'> & { operation: { readonly name: string } }): string =>
  options?.name ?? operation.name

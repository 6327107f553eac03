import type { ErrorSummary } from '@holdfast/records'
import {
  type AttemptRecord,
  type Classification,
  HoldfastError,
  type Member,
  type StopReason,
} from 'holdfast'
import {
  captureContext,
  type EffectivePolicy,
  Execution,
  type ExecutionHooks,
  type GuardedFunction,
  runInContext,
} from 'holdfast/internal'
import type { CallOptions } from '../api-types.js'
import { OperationAdmission } from './admission.js'
import type { CompiledOperation, CompiledPolicy } from './compiled-operation.js'
import type { ActiveCall, RecordingObserver } from './recording-observer.js'
import { overridesFor, type RetryOverrides } from './retry-overrides.js'

/** What is known of a call that failed at least once. */
export interface SessionDraft {
  readonly sessionId: string
  readonly correlationId: string
  readonly startTime: Date
  /** The policy of the last decision, and all that decided, each once. */
  policyId: string
  readonly policyIds: string[]
  /** The kind of the last failure. */
  kind: string
  /** The redacted summary of each attempt's error, so that secrets are searched once. */
  readonly summaries: Map<unknown, ErrorSummary>
  /** The call's redacted context. */
  readonly context: Record<string, unknown> | undefined
  /** When the next attempt begins, in epoch milliseconds. */
  nextRetryTime: number | undefined
}

/** A failed attempt: its error, the classification and the summary for records. */
export interface FailedAttemptInfo {
  readonly error: unknown
  readonly classification: Classification | undefined
  readonly summary: ErrorSummary
  /** Whether it was a value that `retryIf` does not want, and no error. */
  readonly isUnwantedValue?: boolean
}

/** One call of the runtime: an execution of the engine whose policies come from the configuration and that is recorded. */
export class RuntimeCall implements ExecutionHooks, ActiveCall {
  readonly execution: Execution<unknown>
  readonly operation: CompiledOperation
  readonly options: CallOptions | undefined
  readonly admission: OperationAdmission | undefined
  /** Its neighbours in the list of active calls. */
  prevCall: ActiveCall | undefined = undefined
  nextCall: ActiveCall | undefined = undefined
  private readonly recorder: RecordingObserver
  private readonly overrides: RetryOverrides | undefined
  /** The caller's async context, in which the call ends when it is cancelled from elsewhere. */
  private readonly scope = captureContext()
  // Fields that a call without a failure does not need are declared and not set, so that such a call stays small.
  /** Created with the first failure. */
  declare draft: SessionDraft | undefined
  /** The last failure, until it is decided whether it is retried. */
  declare pending: FailedAttemptInfo | undefined
  /** The policy that applies since the last failure. */
  declare private current: CompiledPolicy | undefined

  /** @throws INVALID_OPTIONS */
  constructor(
    recorder: RecordingObserver,
    line: CompiledOperation,
    fn: GuardedFunction,
    input: CallOptions | undefined,
  ) {
    this.recorder = recorder
    this.operation = line
    this.options = input
    this.overrides = input?.retry === undefined ? undefined : overridesFor(input.retry)
    this.admission =
      line.breakers.length + line.shadowPolicies.length === 0 ? undefined : new OperationAdmission(this)
    const { policy } = this.overrides?.applyTo(line.initialPolicy) ?? line.initialPolicy
    this.execution = new Execution(line.guard, fn, undefined, undefined, policy, input, this)
  }

  /** The policy that applies now. */
  get effectivePolicy(): CompiledPolicy {
    return this.current ?? this.operation.initialPolicy
  }

  get maxAttempts(): number {
    return this.execution.maxAttempts
  }

  /** The number of the last attempt. */
  get number(): number {
    return this.execution.number
  }

  /** When the last attempt began, on the monotonic clock. */
  get startedAt(): number {
    return this.execution.startedAt
  }

  /** The pool member of the last attempt. */
  get member(): Member | undefined {
    return this.execution.member
  }

  /** The records of the attempts so far. */
  get history(): readonly AttemptRecord[] {
    return this.execution.attempts
  }

  start<T>(): Promise<T> {
    const { recorder, execution } = this
    recorder.onStart(this)
    try {
      return execution.start() as Promise<T>
    } catch (error) {
      recorder.onReplaced(this)
      throw error
    }
  }

  /** The operator, or the end of the runtime, stops it. */
  cancel(message: string): void {
    const error = new HoldfastError('CANCELLED', message)
    runInContext(this.scope, () => this.execution.cancel(error, 'cancelled'))
  }

  policyFor(overridesByOptions: Classification | undefined): EffectivePolicy | undefined {
    const { policyByKind, defaultPolicy } = this.operation
    const policy = policyByKind.get(overridesByOptions?.kind ?? 'unknown') ?? defaultPolicy
    this.current = this.overrides?.applyTo(policy) ?? policy
    return this.current
  }

  onAttemptFailed(threw: boolean, result: unknown, overridesByOptions: Classification | undefined): void {
    this.recorder.onAttemptFailed(this, threw, result, overridesByOptions)
  }

  onRetryScheduled(delay: number): void {
    this.recorder.onRetryScheduled(this, delay)
  }

  onSettled(stopped: StopReason, result: unknown): PromiseLike<unknown> | undefined {
    this.admission?.end()
    return this.recorder.onEnd(this, stopped, result)
  }
}

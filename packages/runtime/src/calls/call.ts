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
import type { CallOptions } from '../face.js'
import type { ErrorSummary } from '../records/session.js'
import { OperationAdmission } from './admission.js'
import type { Line, LineRules } from './line.js'
import type { Active, Recorder } from './recorder.js'
import { overridesFor, type RetryOverrides } from './retry-overrides.js'

/** What is known of a call that failed at least once. */
export interface Draft {
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
export interface Failure {
  readonly error: unknown
  readonly known: Classification | undefined
  readonly summary: ErrorSummary
  /** Whether it was a value that `retryIf` does not want, and no error. */
  readonly unwanted?: boolean
}

/** One call of the runtime: an execution of the engine whose policies come from the configuration and that is recorded. */
export class RuntimeCall implements ExecutionHooks, Active {
  readonly execution: Execution<unknown>
  readonly line: Line
  readonly given: CallOptions | undefined
  readonly admission: OperationAdmission | undefined
  /** Its neighbours in the list of active calls. */
  earlier: Active | undefined = undefined
  later: Active | undefined = undefined
  private readonly recorder: Recorder
  private readonly overrides: RetryOverrides | undefined
  /** The caller's async context, in which the call ends when it is cancelled from elsewhere. */
  private readonly scope = captureContext()
  // Fields that a call without a failure does not need are declared and not set, so that such a call stays small.
  /** Created with the first failure. */
  declare draft: Draft | undefined
  /** The last failure, until it is decided whether it is retried. */
  declare pending: Failure | undefined
  /** The policy that applies since the last failure. */
  declare private current: LineRules | undefined

  /** @throws INVALID_OPTIONS */
  constructor(recorder: Recorder, line: Line, fn: GuardedFunction, given: CallOptions | undefined) {
    this.recorder = recorder
    this.line = line
    this.given = given
    this.overrides = given?.retry === undefined ? undefined : overridesFor(given.retry)
    this.admission = line.gates.length + line.shadows.length === 0 ? undefined : new OperationAdmission(this)
    const { policy } = this.overrides?.applyTo(line.base) ?? line.base
    this.execution = new Execution(line.core, fn, undefined, undefined, policy, given, this)
  }

  /** The policy that applies now. */
  get present(): LineRules {
    return this.current ?? this.line.base
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
    recorder.began(this)
    try {
      return execution.start() as Promise<T>
    } catch (error) {
      recorder.left(this)
      throw error
    }
  }

  /** The operator, or the end of the runtime, stops it. */
  cancel(message: string): void {
    const error = new HoldfastError('CANCELLED', message)
    runInContext(this.scope, () => this.execution.cancel(error, 'cancelled'))
  }

  policyFor(known: Classification | undefined): EffectivePolicy | undefined {
    const { rules, rest } = this.line
    const policy = rules.get(known?.kind ?? 'unknown') ?? rest
    this.current = this.overrides?.applyTo(policy) ?? policy
    return this.current
  }

  onAttemptFailed(threw: boolean, result: unknown, known: Classification | undefined): void {
    this.recorder.failed(this, threw, result, known)
  }

  onRetryScheduled(delay: number): void {
    this.recorder.waits(this, delay)
  }

  onSettled(stopped: StopReason, result: unknown): PromiseLike<unknown> | undefined {
    this.admission?.end()
    return this.recorder.ended(this, stopped, result)
  }
}

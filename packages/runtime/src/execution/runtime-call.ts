import {
  type AttemptRecord,
  type Classification,
  type Executed,
  HoldfastError,
  type Member,
  type StopReason,
} from 'holdfast'
import {
  captureContext,
  copyCallOptions,
  type EffectivePolicy,
  Execution,
  type ExecutionHooks,
  type Fallback,
  type GuardedFunction,
  runInContext,
} from 'holdfast/internal'
import type { CallOptions } from '../api-types.js'
import type { CallObservers } from '../observation/call-observers.js'
import type {
  ActiveCall,
  FailedAttemptInfo,
  ObservedCall,
  SessionDraft,
  ShadowDecision,
} from '../observation/observed-call.js'
import { type DeadLetterSource, requestOf } from '../request-call.js'
import { OperationAdmission } from './admission.js'
import { type CallOverrides, overridesFor } from './call-overrides.js'
import { type CompiledOperation, type CompiledPolicy, policyForKind } from './compiled-operation.js'
import { FallbackRun, hasFallbackAfter } from './fallback-run.js'
import { RequestPolicies } from './request-policies.js'

/** One call of the runtime: an execution of the core whose policies come from the configuration and that observers follow. */
export class RuntimeCall implements ExecutionHooks, ObservedCall {
  readonly execution: Execution<unknown>
  readonly operation: CompiledOperation
  readonly options: CallOptions<unknown> | undefined
  readonly admission: OperationAdmission | undefined
  /** The neighbours in the list of active calls. */
  prevCall: ActiveCall | undefined = undefined
  nextCall: ActiveCall | undefined = undefined
  private readonly observers: CallObservers
  private readonly overrides: CallOverrides | undefined
  private readonly requestPolicies: RequestPolicies | undefined
  /** The caller's async context, in which the call ends when another context cancels it. */
  private readonly scope = captureContext()
  // These fields are declared and not initialised, so that a call without a failure stays small.
  /** Created with the first failure. */
  declare draft: SessionDraft | undefined
  /** The last failure, until it is decided whether it is retried. */
  declare pending: FailedAttemptInfo | undefined
  /** The policy that applies since the last failure. */
  declare private current: CompiledPolicy | undefined
  /** Created when a call with a fallback has failed. */
  declare private fallbackRun: FallbackRun | undefined

  /** @throws INVALID_OPTIONS */
  constructor(
    observers: CallObservers,
    operation: CompiledOperation,
    fn: GuardedFunction,
    options: CallOptions<unknown> | undefined,
  ) {
    this.observers = observers
    this.operation = operation
    this.options = options
    this.overrides = options === undefined ? undefined : overridesFor(options)
    const request = requestOf(options)
    this.requestPolicies = request && new RequestPolicies(request)
    this.admission =
      operation.breakers.length + operation.shadowPolicies.length === 0
        ? undefined
        : new OperationAdmission(this)
    const initial = this.effective(operation.initialPolicy)
    const timeouts = options?.timeout === undefined ? undefined : initial
    const callOptions = copyCallOptions(options)
    this.execution = new Execution(
      operation.guard,
      fn,
      undefined,
      undefined,
      initial.policy,
      callOptions,
      this,
      timeouts,
    )
  }

  /** The policy that applies now. */
  get effectivePolicy(): CompiledPolicy {
    return this.current ?? this.operation.initialPolicy
  }

  get maxAttempts(): number {
    return this.execution.policy.maxAttempts
  }

  /** The number of the last attempt. */
  get number(): number {
    return this.execution.number
  }

  /** When the last attempt started, on the monotonic clock. */
  get startedAt(): number {
    return this.execution.run?.startedAt ?? 0
  }

  /** The pool member of the last attempt. */
  get member(): Member | undefined {
    return this.execution.run?.selection?.member
  }

  /** The records of the attempts so far. */
  get history(): readonly AttemptRecord[] {
    return this.execution.log?.records ?? []
  }

  start<T>(): Promise<T> {
    const promise = this.addActive(() => this.execution.start() as Promise<T>)
    return this.fallback === undefined ? promise : promise.catch((error) => this.runFallback<T>(error))
  }

  /** Starts the call, and resolves to its value and its session. */
  startWithSession<T>(): Promise<Executed<T>> {
    const { execution } = this
    const promise = this.addActive(() => execution.startWithSession() as Promise<Executed<T>>)
    return this.fallback === undefined
      ? promise
      : promise.catch(async (error) => ({
          value: await this.runFallback<T>(error),
          session: execution.createSession(),
        }))
  }

  /** Adds the call to the active ones and starts it. */
  private addActive<T>(start: () => T): T {
    const { active } = this.observers
    active.add(this)
    try {
      return start()
    } catch (error) {
      active.remove(this)
      throw error
    }
  }

  /** Ends the call with CANCELLED: an operator cancelled it, or the runtime closes. */
  cancel(message: string): void {
    const error = new HoldfastError('CANCELLED', message)
    if (this.fallbackRun !== undefined) this.fallbackRun.cancel(error)
    runInContext(this.scope, () => this.execution.cancel(error, 'cancelled'))
  }

  policyFor(classification: Classification | undefined): EffectivePolicy | undefined {
    this.current = this.effective(policyForKind(this.operation, classification))
    return this.current
  }

  /** The dead letter of a request, where a failure is stored. */
  get deadLetter(): DeadLetterSource | undefined {
    return requestOf(this.options)?.deadLetter
  }

  /** A policy with the options of the call and the rules of its request. */
  private effective(policy: CompiledPolicy): CompiledPolicy {
    const own = this.overrides?.applyTo(policy) ?? policy
    return this.requestPolicies?.applyTo(own) ?? own
  }

  takeShadowDecision(): ShadowDecision | undefined {
    return this.admission?.takeShadowDecision()
  }

  onAttemptFailed(hasThrown: boolean, result: unknown, classification: Classification | undefined): void {
    this.observers.onAttemptFailed(this, hasThrown, result, classification)
  }

  onRetryScheduled(delay: number): void {
    this.observers.onRetryScheduled(this, delay)
  }

  onSettled(stopped: StopReason, result: unknown): PromiseLike<unknown> | undefined {
    this.admission?.end()
    if (this.fallback === undefined || !hasFallbackAfter(stopped))
      return this.observers.onEnd(this, stopped, result)
    this.fallbackRun = new FallbackRun(stopped)
    return undefined
  }

  private get fallback(): Fallback | undefined {
    return this.options?.fallback ?? this.operation.fallback
  }

  /** Ends a failed call with its fallback. Only a call whose fallback fails, too, becomes a dead letter. */
  private async runFallback<T>(error: unknown): Promise<T> {
    const { observers, fallback, fallbackRun, execution, options } = this
    if (fallback === undefined || fallbackRun === undefined) throw error // aborted or cancelled
    const { stopped } = fallbackRun
    observers.onFallback(this, stopped, error)
    const info = { attempt: execution.number, context: execution.context }
    const result = await fallbackRun.run(fallback, error, info, options?.signal)
    if ('value' in result) {
      observers.onEnd(this, stopped, error, { isServed: true })
      return result.value as T
    }
    const recorded = result.stopped === undefined ? error : result.error
    await observers.onEnd(this, result.stopped ?? stopped, recorded, { isServed: false })
    throw result.error
  }
}

import type { CircuitBreaker, Classification, HoldfastError } from 'holdfast'
import { type Admission, breakerOutcome, type PermitState, reportOnce } from 'holdfast/internal'
import type { ShadowDecision } from '../observation/observed-call.js'
import type { RuntimeCall } from './runtime-call.js'
import { ShadowEvaluator } from './shadow-evaluator.js'

/** Acquires a permit of every breaker of an operation, and evaluates the operation's policies in shadow mode. */
export class OperationAdmission implements Admission {
  private readonly call: RuntimeCall
  private readonly shadow: ShadowEvaluator | undefined
  private permits: PermitState[] | undefined = undefined
  private shadowDecision: ShadowDecision | undefined = undefined

  constructor(call: RuntimeCall) {
    const { operation } = call
    this.call = call
    this.shadow =
      operation.shadowPolicies.length === 0
        ? undefined
        : new ShadowEvaluator(operation, operation.guard.settings.random)
  }

  acquirePermit(now: number): HoldfastError | undefined {
    const { shadow, breakers } = this
    if (shadow !== undefined) this.shadowDecision = this.runIsolated(() => shadow.onAttemptStarted(now))
    const { lease } = this.call.execution
    const permits: PermitState[] = []
    for (const breaker of breakers) {
      const permit: PermitState = { epoch: 0, startedAt: 0, leaseEnd: 0 }
      if (!breaker.tryAcquire(permit, lease, now)) {
        const error = breaker.createOpenError()
        for (const [i, acquired] of permits.entries()) breakers[i]?.release(acquired, undefined)
        return error
      }
      permits.push(permit)
    }
    this.permits = permits
    return undefined
  }

  /** Operations with breakers do not use the fast path, so there is no permit to take over. */
  resumePermit(): void {}

  recordOutcome(
    hasThrown: boolean,
    result: unknown,
    classification: Classification | undefined,
    at: number | undefined,
  ): void {
    const { permits, shadow, breakers, call } = this
    const { effectivePolicy, operation } = call
    if (shadow !== undefined) {
      const now = operation.guard.settings.clock.now()
      this.shadowDecision ??= this.runIsolated(() =>
        shadow.onAttemptEnded({ hasThrown, result, classification, policy: effectivePolicy }, now),
      )
    }
    this.permits = undefined
    for (const [i, permit] of (permits ?? []).entries()) {
      const breaker = breakers[i]
      if (breaker === undefined) continue
      const outcome = breakerOutcome(breaker, hasThrown, result, classification)
      // A failure counts only for the breaker of the policy that decides about it.
      breaker.release(
        permit,
        outcome === 'failure' && breaker !== effectivePolicy.breaker ? undefined : outcome,
        at,
      )
    }
  }

  releasePermit(): void {
    this.shadow?.onAttemptCancelled()
    for (const [i, permit] of (this.permits ?? []).entries()) this.breakers[i]?.release(permit, undefined)
    this.permits = undefined
  }

  isOpen(): boolean {
    return this.breakers.some(({ state }) => state === 'open')
  }

  isClosed(): boolean {
    return this.breakers.every(({ state }) => state === 'closed')
  }

  /** The call ended. */
  end(): void {
    this.shadow?.onCallEnded()
  }

  /** Returns the last decision of a policy in shadow mode, once. */
  takeShadowDecision(): ShadowDecision | undefined {
    const { shadowDecision } = this
    this.shadowDecision = undefined
    return shadowDecision
  }

  private get breakers(): readonly CircuitBreaker[] {
    return this.call.operation.breakers
  }

  /** Runs `evaluate` so that an error of a policy in shadow mode does not fail the call. */
  private runIsolated<R>(evaluate: () => R): R | undefined {
    try {
      return evaluate()
    } catch (error) {
      reportOnce('a policy in shadow mode', this.call.operation, error)
      return undefined
    }
  }
}

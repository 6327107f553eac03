import type { CircuitBreaker, Classification, HoldfastError, Random, StopReason } from 'holdfast'
import {
  breakerOutcome,
  createAttemptTimeoutError,
  createBulkheadFullError,
  createTotalTimeoutError,
  isRetryable,
  nextDelay,
  type PermitState,
  type RejectionReason,
  rejectionReason,
} from 'holdfast/internal'
import type { ShadowDecision } from '../observation/observed-call.js'
import type { CompiledOperation, CompiledPolicy } from './compiled-operation.js'

/** How an attempt ended. */
interface AttemptOutcome {
  readonly hasThrown: boolean
  readonly result: unknown
  readonly classification: Classification | undefined
  /** The policy that decides about the attempt. */
  readonly policy: CompiledPolicy
}

/**
 * Evaluates the policies in shadow mode for one call. Their breakers, budgets, bulkheads and deadlines observe the call,
 * and none of their decisions is applied.
 */
export class ShadowEvaluator {
  private readonly operation: CompiledOperation
  private readonly random: Random
  private readonly permits = new Map<CircuitBreaker, PermitState>()
  private callStartedAt = 0
  private attemptStartedAt = 0
  private attemptNumber = 0
  /** Whether the call would already have ended under these policies. */
  private isFinished = false
  /** Releases the bulkhead slot, or cancels the wait for one. */
  private releaseBulkhead: (() => void) | undefined = undefined

  constructor(operation: CompiledOperation, random: Random) {
    this.operation = operation
    this.random = random
  }

  /** An attempt starts. Returns a decision if the attempt would have been rejected. */
  onAttemptStarted(now: number): ShadowDecision | undefined {
    if (this.isFinished) return undefined
    const { initialPolicy, shadowPolicies, guard } = this.operation
    this.attemptStartedAt = now
    if (++this.attemptNumber === 1) {
      this.callStartedAt = now
      if (initialPolicy.shadow?.bulkhead !== undefined && !this.enterBulkhead()) {
        return this.createRejection(initialPolicy, createBulkheadFullError(guard.settings.name))
      }
      initialPolicy.shadow?.budget?.deposit()
    }
    for (const policy of shadowPolicies) {
      const { breaker, attemptTimeout = Infinity } = policy.shadow ?? {}
      if (breaker === undefined || this.permits.has(breaker)) continue
      const permit: PermitState = { epoch: 0, startedAt: 0, leaseEnd: 0 }
      const lease = attemptTimeout < Infinity ? attemptTimeout : undefined
      if (!breaker.tryAcquire(permit, lease, now))
        return this.createRejection(policy, breaker.createOpenError())
      this.permits.set(breaker, permit)
    }
    return undefined
  }

  /** The attempt ended. Returns the decision that would have followed, if one of these policies would have made it. */
  onAttemptEnded(outcome: AttemptOutcome, now: number): ShadowDecision | undefined {
    if (this.isFinished) return undefined
    const deadline = this.deadlineOutcome(now)
    const { hasThrown, result, classification, policy } = deadline?.outcome ?? outcome
    for (const [breaker, permit] of this.permits) {
      const breakerResult = breakerOutcome(breaker, hasThrown, result, classification)
      breaker.release(
        permit,
        breakerResult === 'failure' && breaker !== policy.shadow?.breaker ? undefined : breakerResult,
        deadline?.at,
      )
    }
    this.permits.clear()
    if (classification === undefined || (policy.shadow === undefined && deadline === undefined))
      return undefined
    const next = deadline?.total
      ? 'deadline'
      : this.nextStep(hasThrown, result, classification, policy, deadline?.at ?? now)
    this.isFinished = typeof next === 'string'
    const { record } = deadline === undefined ? policy : this.operation.initialPolicy
    return {
      policyId: record.id,
      attempt: this.attemptNumber,
      maxAttempts: (policy.shadow?.policy ?? policy.policy).maxAttempts,
      next,
      error: result,
      isActualError: deadline === undefined,
    }
  }

  /** The attempt was cancelled, so it has no outcome. */
  onAttemptCancelled(): void {
    for (const [breaker, permit] of this.permits) breaker.release(permit, undefined)
    this.permits.clear()
  }

  /** The call ended. */
  onCallEnded(): void {
    this.onAttemptCancelled() // Releases the permits of an attempt that an actual breaker rejected.
    this.releaseBulkhead?.()
    this.releaseBulkhead = undefined
  }

  private enterBulkhead(): boolean {
    const bulkhead = this.operation.initialPolicy.shadow?.bulkhead
    if (bulkhead === undefined) return true
    const waiter = {
      onSlot: () => {
        this.releaseBulkhead = () => bulkhead.releaseSlot()
      },
    }
    this.releaseBulkhead = () => bulkhead.cancelWait(waiter)
    const entered = bulkhead.acquireSlot(waiter)
    if (!entered) this.releaseBulkhead = undefined
    return entered
  }

  private createRejection({ record }: CompiledPolicy, error: HoldfastError): ShadowDecision {
    this.isFinished = true
    this.onAttemptCancelled()
    return {
      policyId: record.id,
      attempt: this.attemptNumber,
      maxAttempts: record.maxAttempts,
      next: rejectionReason(error.code) as RejectionReason,
      error,
      isActualError: false,
    }
  }

  /** The outcome of the first attempt at a deadline of a policy in shadow mode, if it has passed one. */
  private deadlineOutcome(now: number): { outcome: AttemptOutcome; at: number; total: boolean } | undefined {
    const { initialPolicy, guard, policyByKind, defaultPolicy } = this.operation
    const { attemptTimeout = Infinity, totalTimeout = Infinity } = initialPolicy.shadow ?? {}
    const limit = Math.min(attemptTimeout, totalTimeout)
    if (this.attemptNumber !== 1 || now - this.attemptStartedAt <= limit) return undefined
    const { name } = guard.settings
    const isTotal = totalTimeout <= attemptTimeout
    const error = isTotal
      ? createTotalTimeoutError(name, totalTimeout)
      : createAttemptTimeoutError(name, 1, attemptTimeout)
    const classification = guard.classify(error, true)
    const outcome = {
      hasThrown: true,
      result: error,
      classification,
      policy: policyByKind.get(classification.kind) ?? defaultPolicy,
    }
    return { outcome, at: this.attemptStartedAt + limit, total: isTotal }
  }

  private nextStep(
    hasThrown: boolean,
    error: unknown,
    known: Classification,
    rules: CompiledPolicy,
    at: number,
  ): number | StopReason {
    const { policy, totalTimeout } = rules.shadow ?? rules
    if (hasThrown && !isRetryable(policy, error, known, this.attemptNumber)) return 'not_retryable'
    const remaining = this.callStartedAt + totalTimeout - at
    const delay = nextDelay(policy, this.attemptNumber, error, known.retryAfter, 0, remaining, this.random)
    if (typeof delay === 'string') return delay
    if (this.operation.shadowPolicies.some(({ shadow }) => shadow?.breaker?.currentState === 'open'))
      return 'circuit_open'
    const budget = this.operation.initialPolicy.shadow?.budget
    return budget === undefined || budget.withdraw() ? delay : 'budget_spent'
  }
}

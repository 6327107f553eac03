import type { CircuitBreaker, Classification, HoldfastError, Random, StopReason } from 'holdfast'
import {
  breakerOutcome,
  createAttemptTimeoutError,
  createBulkheadFullError,
  createTotalTimeoutError,
  isRetryable,
  nextDelay,
  type PermitState,
} from 'holdfast/internal'
import type { ShadowDecision } from '../observation/observed-call.js'
import type { CompiledOperation, CompiledPolicy } from './compiled-operation.js'

/** How an attempt ended. */
interface AttemptOutcome {
  readonly hasThrown: boolean
  readonly result: unknown
  readonly classification: Classification | undefined
  /** What decides over it. */
  readonly policy: CompiledPolicy
}

/**
 * Follows one call for the policies of its line that only look on: their breakers, budgets, bulkheads and deadlines see what
 * happens, and nothing that they would have done is done.
 */
export class ShadowEvaluator {
  private readonly operation: CompiledOperation
  private readonly random: Random
  private readonly permits = new Map<CircuitBreaker, PermitState>()
  private callStartedAt = 0
  private attemptStartedAt = 0
  private attemptNumber = 0
  /** Whether by them the call would have ended. */
  private isFinished = false
  /** Gives up its place in the bulkhead. */
  private releaseBulkhead: (() => void) | undefined = undefined

  constructor(line: CompiledOperation, random: Random) {
    this.operation = line
    this.random = random
  }

  /** An attempt begins. Tells whether it would have been refused, and why. */
  onAttemptStarted(now: number): ShadowDecision | undefined {
    if (this.isFinished) return undefined
    const { initialPolicy, shadowPolicies, guard } = this.operation
    this.attemptStartedAt = now
    if (++this.attemptNumber === 1) {
      this.callStartedAt = now
      if (initialPolicy.shadow?.bulkhead !== undefined && !this.enterBulkhead()) {
        const bulkheadError = createBulkheadFullError(guard.settings.name)
        return this.createRejection(initialPolicy, bulkheadError, 'bulkhead_full')
      }
      initialPolicy.shadow?.budget?.deposit()
    }
    for (const policy of shadowPolicies) {
      const { breaker, attemptTimeout = Infinity } = policy.shadow ?? {}
      if (breaker === undefined || this.permits.has(breaker)) continue
      const permit: PermitState = { epoch: 0, startedAt: 0, leaseEnd: 0 }
      const lease = attemptTimeout < Infinity ? attemptTimeout : undefined
      if (!breaker.tryAcquire(permit, lease, now))
        return this.createRejection(policy, breaker.createOpenError(), 'circuit_open')
      this.permits.set(breaker, permit)
    }
    return undefined
  }

  /** The attempt ended. Tells what would have followed, where one of the policies would have decided it. */
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

  /** The attempt was called off: it says nothing. */
  onAttemptCancelled(): void {
    for (const [breaker, permit] of this.permits) breaker.release(permit, undefined)
    this.permits.clear()
  }

  /** The call ended. */
  onCallEnded(): void {
    this.onAttemptCancelled() // where it was refused by somebody else
    this.releaseBulkhead?.()
    this.releaseBulkhead = undefined
  }

  private enterBulkhead(): boolean {
    const bulkhead = this.operation.initialPolicy.shadow?.bulkhead
    if (bulkhead === undefined) return true
    const enter = () => {
      this.releaseBulkhead = () => bulkhead.releaseSlot()
    }
    this.releaseBulkhead = () => bulkhead.cancelWait(enter)
    const entered = bulkhead.acquireSlot(enter)
    if (!entered) this.releaseBulkhead = undefined
    return entered
  }

  private createRejection(
    { record }: CompiledPolicy,
    error: HoldfastError,
    next: StopReason,
  ): ShadowDecision {
    this.isFinished = true
    this.onAttemptCancelled()
    return {
      policyId: record.id,
      attempt: this.attemptNumber,
      maxAttempts: record.maxAttempts,
      next,
      error,
      isActualError: false,
    }
  }

  /** How the first attempt would have ended at a deadline, and when, where it has passed one. */
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
    threw: boolean,
    error: unknown,
    known: Classification,
    rules: CompiledPolicy,
    at: number,
  ): number | StopReason {
    const { policy, totalTimeout } = rules.shadow ?? rules
    if (threw && !isRetryable(policy, error, known, this.attemptNumber)) return 'not_retryable'
    const remaining = this.callStartedAt + totalTimeout - at
    const delay = nextDelay(policy, this.attemptNumber, error, known.retryAfter, 0, remaining, this.random)
    if (typeof delay === 'string') return delay
    if (this.operation.shadowPolicies.some(({ shadow }) => shadow?.breaker?.currentState === 'open'))
      return 'circuit_open'
    const budget = this.operation.initialPolicy.shadow?.budget
    return budget === undefined || budget.withdraw() ? delay : 'budget_spent'
  }
}

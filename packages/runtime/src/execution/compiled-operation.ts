import type { RetryPolicy } from '@holdfast/records'
import type { CircuitBreaker, RetryBudget } from 'holdfast'
import type { Bulkhead, EffectivePolicy, GuardExecutor } from 'holdfast/internal'
import type { OperationMetrics } from '../observation/observed-call.js'

/** What a policy would go by that only looks on. All of it is its own: it sees what happens and is asked for nothing. */
interface ShadowPolicy extends EffectivePolicy {
  readonly breaker: CircuitBreaker | undefined
  readonly bulkhead: Bulkhead | undefined
  readonly budget: RetryBudget | undefined
}

/** What follows a failure of one kind: a policy of the file, as the engine takes it. */
export interface CompiledPolicy extends EffectivePolicy {
  /** The policy as the file has it. */
  readonly record: RetryPolicy
  /** The breaker that counts the failures it decides over. */
  readonly breaker: CircuitBreaker | undefined
  /** Whether an override switches retries off: then the options of a call do not turn them on again. */
  readonly isRetryDisabled?: boolean
  /** Where it only looks on. */
  readonly shadow?: ShadowPolicy | undefined
}

/** An operation as a configuration has it, ready to run calls. It never changes: another configuration makes others. */
export interface CompiledOperation {
  /** The dotted operation, or what the call named itself. */
  readonly name: string
  readonly subsystem: string | undefined
  /** Switched off: calls pass straight through. */
  readonly isEnabled: boolean
  /** Whether a first attempt needs nothing but to be made. */
  readonly canSkipTracking: boolean
  readonly guard: GuardExecutor
  /** By the kind of a failure; `defaultPolicy` for every other kind; `initialPolicy` before the first failure. */
  readonly policyByKind: ReadonlyMap<string, CompiledPolicy>
  readonly defaultPolicy: CompiledPolicy
  readonly initialPolicy: CompiledPolicy
  /** Every breaker that must let a call through. */
  readonly breakers: readonly CircuitBreaker[]
  /** Those of its rules that only look on. */
  readonly shadowPolicies: readonly CompiledPolicy[]
  readonly metrics: OperationMetrics
}

import type { RetryPolicy } from '@holdfast/records'
import type { CircuitBreaker, Classification } from 'holdfast'
import type { EffectivePolicy, ExecutorOptions, Fallback, GuardExecutor } from 'holdfast/internal'
import type { OperationMetrics } from '../observation/observed-call.js'
import type { SharedLimits } from './policy-limits.js'

/** The settings of a policy in shadow mode. Its breaker and limits are its own: they only observe calls. */
interface ShadowPolicy extends EffectivePolicy, SharedLimits {
  readonly breaker: CircuitBreaker | undefined
}

/** A policy of the file, compiled for the core. It decides about the failures of one kind. */
export interface CompiledPolicy extends EffectivePolicy {
  /** The resolved policy of the file. */
  readonly record: RetryPolicy
  /** The breaker that counts the failures this policy decides about. */
  readonly breaker: CircuitBreaker | undefined
  /** Whether an override disables retries; the options of a call cannot enable them again. */
  readonly isRetryDisabled?: boolean
  /** Set where the policy is in shadow mode. */
  readonly shadow?: ShadowPolicy | undefined
}

/** An operation compiled for one configuration. It is immutable: another configuration compiles it again. */
export interface CompiledOperation {
  /** The operation, or the name of a guard with its own options. */
  readonly name: string
  readonly subsystem: string | undefined
  /** Whether policies apply. Calls of a disabled operation run once and are not recorded. */
  readonly isEnabled: boolean
  /** Whether a first attempt can use the fast path, because it needs no permit, bulkhead slot or pool member. */
  readonly canSkipTracking: boolean
  readonly guard: GuardExecutor
  /** The options that `guard` was created with. */
  readonly executorOptions: ExecutorOptions
  /**
   * The policy for each kind of failure. `defaultPolicy` applies to every other kind, `initialPolicy` before the first
   * failure.
   */
  readonly policyByKind: ReadonlyMap<string, CompiledPolicy>
  readonly defaultPolicy: CompiledPolicy
  readonly initialPolicy: CompiledPolicy
  /** Every breaker that must grant a permit to a call. */
  readonly breakers: readonly CircuitBreaker[]
  /** The policies in shadow mode. */
  readonly shadowPolicies: readonly CompiledPolicy[]
  readonly metrics: OperationMetrics
  /** The fallback of a guard with its own options. The fallback of a call takes precedence. */
  readonly fallback?: Fallback | undefined
}

/** The policy that decides about a failure. */
export const policyForKind = (
  { policyByKind, defaultPolicy }: CompiledOperation,
  classification: Classification | undefined,
): CompiledPolicy => policyByKind.get(classification?.kind ?? 'unknown') ?? defaultPolicy

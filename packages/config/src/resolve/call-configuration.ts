import type { RetryPolicy } from '@holdfast/records'
import type { BreakerOptions } from 'holdfast'

/** What a configuration says of one operation. */
export interface OperationConfig {
  readonly subsystem?: string | undefined
  /** The policy by the kind of a failure. */
  readonly policyByKind: ReadonlyMap<string, string>
  /** The policy of every other kind. */
  readonly fallbackPolicyId: string
  readonly isEnabled: boolean
  /** Whether its subsystem is switched on, whatever the policies say. */
  readonly isSubsystemEnabled: boolean
  /** Kinds of the user's own, each with what belongs to it. */
  readonly errorKinds: Readonly<Record<string, readonly string[]>>
  /** Whether the configuration says anything of the operation. */
  readonly isMapped: boolean
}

/** A breaker shared by name. */
interface NamedBreakerConfig {
  readonly options: BreakerOptions
  readonly persist: boolean
}

/** A policy with the overrides that concern the calls of an operation. */
export interface CallPolicy {
  readonly policy: RetryPolicy
  /** Where the limits of its bulkhead were said, if by overrides: calls of other places do not share it. */
  readonly bulkheadPlace: string
  /** Whether an override switches retries off: then nothing that a call brings turns them on again. */
  readonly isRetryDisabled: boolean
}

/** One configuration, as far as calls are concerned. */
export interface CallConfiguration {
  readonly policies: ReadonlyMap<string, RetryPolicy>
  operationConfig(name: string): OperationConfig
  readonly breakers: ReadonlyMap<string, NamedBreakerConfig>
  /** The policies as calls of an operation have them. @throws INVALID_OPTIONS for overrides that are wrong */
  policiesOf(operation: string): (id: string) => CallPolicy | undefined
  /** The options of the breaker of a policy's own. */
  ownBreaker(policy: RetryPolicy): BreakerOptions
  /** The policy of calls through a pool that nothing else decides. */
  poolPolicy(pool: string): string | undefined
}

/**
 * The policy of the first attempt, which has no failure to go by: the operation's `default`; else, where all its kinds
 * share one policy, that; else the default policy.
 */
export function initialPolicyId({ policyByKind, fallbackPolicyId }: OperationConfig): string {
  const ids = new Set(policyByKind.values())
  const [only] = ids
  return ids.size === 1 &&
    only !== undefined &&
    !policyByKind.has('default') &&
    fallbackPolicyId === 'default'
    ? only
    : fallbackPolicyId
}

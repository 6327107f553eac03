import type { RetryPolicy } from '@holdfast/records'
import type { BreakerOptions } from 'holdfast'

/** The configuration of one operation. */
export interface OperationConfig {
  /** The subsystem of the operation, if it has one. */
  readonly subsystem?: string | undefined
  /** The policy for each kind of failure. */
  readonly policyByKind: ReadonlyMap<string, string>
  /** The policy for every other kind. */
  readonly fallbackPolicyId: string
  /** Whether calls of the operation are retried and protected. */
  readonly isEnabled: boolean
  /** Whether the subsystem is enabled, regardless of the policies. */
  readonly isSubsystemEnabled: boolean
  /** User-defined kinds of failure, each with its error names and codes. */
  readonly errorKinds: Readonly<Record<string, readonly string[]>>
  /** Whether the configuration maps the operation. */
  readonly isMapped: boolean
}

/** A named breaker. */
interface NamedBreakerConfig {
  readonly options: BreakerOptions
  readonly persist: boolean
}

/** A policy with the overrides for calls of an operation. */
export interface CallPolicy {
  /** The policy with the overrides applied. */
  readonly policy: RetryPolicy
  /** The scope of the overrides that set the bulkhead, if there are any. Calls of other scopes do not share it. */
  readonly bulkheadPlace: string
  /** Whether an override disables retries; the options of a call cannot enable them again. */
  readonly isRetryDisabled: boolean
}

/** The part of a configuration that calls use. */
export interface CallConfiguration {
  /** All policies by id. */
  readonly policies: ReadonlyMap<string, RetryPolicy>
  /** Returns the configuration of an operation. */
  operationConfig(name: string): OperationConfig
  /** The named breakers. */
  readonly breakers: ReadonlyMap<string, NamedBreakerConfig>
  /** The policies with the overrides for an operation. @throws INVALID_OPTIONS for overrides that are not valid */
  policiesOf(operation: string): (id: string) => CallPolicy | undefined
  /** The options of a policy's own breaker. */
  ownBreaker(policy: RetryPolicy): BreakerOptions
  /** The policy of a pool's calls that have no other policy. */
  poolPolicy(pool: string): string | undefined
}

/**
 * The policy of the first attempt, before any failure: the operation's `default`; else the policy that all its kinds share;
 * else the default policy.
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

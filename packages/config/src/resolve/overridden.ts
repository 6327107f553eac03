import type { RetryPolicy } from '@holdfast/records'
import { type OverriddenPolicy, overridePolicy } from './override-policy.js'
import { type OperationOverrides, overridesFor } from './overrides.js'
import { breakerLayers, createOwnBreaker, type OwnBreaker } from './own-breaker.js'
import type { ResolvedConfig } from './resolve-config.js'

/** The policies of a config with their overrides. Nothing is computed before it is needed. */
export class OverriddenPolicies {
  private readonly resolved: ResolvedConfig
  private breakerLayers: ReadonlyMap<string, readonly OperationOverrides[]> | undefined = undefined

  constructor(resolved: ResolvedConfig) {
    this.resolved = resolved
  }

  /** The policies with the overrides for an operation. @throws INVALID_OPTIONS for a variable that is not valid */
  forOperation(operation: string): (id: string) => OverriddenPolicy | undefined {
    const { policies } = this.resolved
    const overrides = overridesFor(this.resolved, operation)
    return (id) => {
      const found = policies.get(id)
      return found && overridePolicy(found, overrides)
    }
  }

  /** The own breaker of a policy. */
  ownBreaker(policy: RetryPolicy): OwnBreaker {
    this.breakerLayers ??= breakerLayers(this.resolved)
    const layers = this.breakerLayers.get(policy.id) ?? this.breakerLayers.get('') ?? []
    return createOwnBreaker(policy, () => this.resolved.policies.get(policy.id)?.origins ?? {}, layers)
  }
}

import { snakeKey, toSeconds } from '@holdfast/records'
import { createConfigInvalid, describeMismatch, type Problem } from '../problem.js'
import type { ResolvedConfig } from '../resolve/resolve-config.js'
import { findFieldConflicts } from '../resolve/resolve-policy.js'

/** A conflict in a policy, between the file and the changes made through the API. */
export interface PolicyConflict extends Problem {
  readonly policyId: string
}

/** Finds conflicts in policies: contradicting fields, and breakers that do not exist. */
export function findPolicyConflicts({ policies, config }: ResolvedConfig): PolicyConflict[] {
  const conflicts: PolicyConflict[] = []
  for (const [policyId, resolved] of policies) {
    const { policy } = resolved
    const at = (field: string) => `policies.${policyId}.${snakeKey(field)}`
    for (const { field, minimumField } of findFieldConflicts(resolved))
      conflicts.push({
        policyId,
        path: at(field),
        message: describeMismatch(
          `at least ${snakeKey(minimumField)} (${toSeconds(policy[minimumField])})`,
          `${toSeconds(policy[field])}`,
        ),
      })
    if (policy.circuitBreaker && !Object.hasOwn(config.circuitBreakers ?? {}, policy.circuitBreaker))
      conflicts.push({
        policyId,
        path: at('circuitBreaker'),
        message: describeMismatch('a name under circuit_breakers', JSON.stringify(policy.circuitBreaker)),
      })
  }
  return conflicts
}

/** @throws CONFIG_INVALID that lists them */
export function throwPolicyConflicts(problems: readonly PolicyConflict[]): never {
  throw createConfigInvalid('the configuration with the changes made through the API', problems)
}

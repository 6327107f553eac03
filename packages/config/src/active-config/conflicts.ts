import { snakeKey, toSeconds } from '@holdfast/records'
import { createConfigInvalid, type Problem } from '../problem.js'
import type { ResolvedConfig } from '../resolve/resolve-config.js'
import { findFieldConflicts } from '../resolve/resolve-policy.js'

/** Something in a policy, file and changes together, that cannot be. */
export interface PolicyConflict extends Problem {
  readonly policyId: string
}

/** What in the policies cannot be: fields that contradict each other, breakers that are not there. */
export function findPolicyConflicts({ policies, config }: ResolvedConfig): PolicyConflict[] {
  const conflicts: PolicyConflict[] = []
  for (const [policyId, resolved] of policies) {
    const { policy } = resolved
    const at = (field: string) => `policies.${policyId}.${snakeKey(field)}`
    for (const { field, minimumField } of findFieldConflicts(resolved))
      conflicts.push({
        policyId,
        path: at(field),
        message: `${toSeconds(policy[field])} is less than ${snakeKey(minimumField)}, which is ${toSeconds(policy[minimumField])}`,
      })
    if (policy.circuitBreaker && !Object.hasOwn(config.circuitBreakers ?? {}, policy.circuitBreaker))
      conflicts.push({
        policyId,
        path: at('circuitBreaker'),
        message: `there is no breaker ${JSON.stringify(policy.circuitBreaker)}`,
      })
  }
  return conflicts
}

/** @throws CONFIG_INVALID that lists them */
export function throwPolicyConflicts(problems: readonly PolicyConflict[]): never {
  throw createConfigInvalid('the configuration with the changes made through the API', problems)
}

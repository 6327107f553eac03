import { snakeKey } from '@holdfast/records'
import { createConfigInvalid } from '../problems/describe.js'
import { formatValue } from '../problems/format-value.js'
import { type ConfigProblem, notFound } from '../problems/problem.js'
import type { ResolvedConfig } from '../resolve/resolve-config.js'
import { conflictFacts, findFieldConflicts } from '../resolve/resolve-policy.js'

/** A conflict in a policy, between the file and the changes made through the API. */
export interface PolicyConflict extends ConfigProblem {
  readonly policyId: string
}

/** Finds conflicts in policies: contradicting fields, and breakers that do not exist. */
export function findPolicyConflicts({ policies, config }: ResolvedConfig): PolicyConflict[] {
  const conflicts: PolicyConflict[] = []
  for (const [policyId, resolved] of policies) {
    const { policy } = resolved
    const at = (field: string) => `policies.${policyId}.${snakeKey(field)}`
    for (const conflict of findFieldConflicts(resolved))
      conflicts.push({ policyId, path: at(conflict.field), ...conflictFacts(resolved, conflict) })
    if (policy.circuitBreaker && !Object.hasOwn(config.circuitBreakers ?? {}, policy.circuitBreaker))
      conflicts.push({
        policyId,
        path: at('circuitBreaker'),
        ...notFound('a name under circuit_breakers', formatValue(policy.circuitBreaker)),
      })
  }
  return conflicts
}

/** @throws CONFIG_INVALID that lists them */
export function throwPolicyConflicts(problems: readonly PolicyConflict[]): never {
  throw createConfigInvalid('the configuration with the changes made through the API', problems)
}

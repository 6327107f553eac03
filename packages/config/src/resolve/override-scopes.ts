import type { Config } from '../schema/schema.js'
import { resolveOperation } from './operations.js'
import type { ResolvedConfig } from './resolve-config.js'

/** The operations that a config maps to policies, as `subsystem.operation`. */
export const mappedOperations = ({ subsystemMappings = {} }: Config): string[] =>
  Object.entries(subsystemMappings).flatMap(([subsystem, operations]) =>
    Object.keys(operations).map((operation) => `${subsystem}.${operation}`),
  )

/** The ids of the policies that operations of a scope use, as far as the config shows. */
export function policiesAt(resolved: ResolvedConfig, scope: string): Set<string> {
  const { config, policies } = resolved
  const mapped = scope.includes('/')
    ? []
    : mappedOperations(config).filter((operation) => operation.startsWith(`${scope}.`))
  const isOperation = scope.includes('/') || policies.has(scope) || mapped.length === 0
  const ids = new Set<string>()
  for (const operation of isOperation ? [scope.replace('/', '.'), ...mapped] : mapped) {
    const { policyByKind, fallbackPolicyId } = resolveOperation(resolved, operation)
    for (const id of [...policyByKind.values(), fallbackPolicyId]) ids.add(id)
  }
  return ids
}

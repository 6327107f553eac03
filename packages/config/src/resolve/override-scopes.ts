import type { Config } from '../schema/schema.js'
import { resolveOperation } from './operations.js'
import type { ResolvedConfig } from './resolve-config.js'

/** The operations that a config maps to policies, as `subsystem.operation`. */
export const mappedOperations = ({ subsystemMappings = {} }: Config): string[] =>
  Object.entries(subsystemMappings).flatMap(([subsystem, operations]) =>
    Object.keys(operations).map((operation) => `${subsystem}.${operation}`),
  )

/** The ids of the policies that operations of a scope use, as far as the config shows. */
export function policiesAt(resolved: ResolvedConfig, place: string): Set<string> {
  const { config, policies } = resolved
  const mapped = place.includes('/')
    ? []
    : mappedOperations(config).filter((operation) => operation.startsWith(`${place}.`))
  const isOperation = place.includes('/') || policies.has(place) || mapped.length === 0
  const ids = new Set<string>()
  for (const operation of isOperation ? [place.replace('/', '.'), ...mapped] : mapped) {
    const { policyByKind, fallbackPolicyId } = resolveOperation(resolved, operation)
    for (const id of [...policyByKind.values(), fallbackPolicyId]) ids.add(id)
  }
  return ids
}

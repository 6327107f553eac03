import { formatName } from '../../format.js'
import type { PolicyConfig } from './load.js'

/** An operation or a pool that uses a policy. */
export interface PolicyUser {
  readonly kind: 'operation' | 'pool'
  readonly name: string
  /** The failures for which the policy applies; undefined where it always applies. */
  readonly condition?: string
}

/** The operations and pools of the configuration that use a policy. */
export function usersOf({ subsystem_mappings = {}, pools = {} }: PolicyConfig, id: string): PolicyUser[] {
  const mapped = Object.entries(subsystem_mappings).flatMap(([subsystem, operations]) =>
    Object.entries(operations).flatMap(([operation, kinds]) =>
      Object.entries(kinds)
        .filter(([, policy]) => policy.replace(/^\?/, '') === id)
        .map(([kind]) => ({
          kind: 'operation' as const,
          name: `${subsystem}.${operation}`,
          condition: kind === 'default' ? 'all other failures' : `failures of the kind ${formatName(kind)}`,
        })),
    ),
  )
  const pooled = Object.entries(pools)
    .filter(([, { policy }]) => policy === id)
    .map(([name]) => ({ kind: 'pool' as const, name }))
  return [...mapped, ...pooled]
}

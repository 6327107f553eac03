import { suggest } from '../nearest.js'
import { show } from '../problem.js'
import { READY } from '../ready.js'
import type { Config } from '../schema/schema.js'
import type { Facts, Tell } from './facts.js'

/** The ids of all policies there are. */
export const policyIds = (config: Config): Set<string> =>
  new Set([...Object.keys(config.policies ?? {}), ...Object.keys(READY)])

const hint = (word: string, known: Iterable<string>): string => {
  const like = suggest(word, known)
  return like === undefined ? '' : ` (did you mean ${like}?)`
}

/** Checks that what is named is there. Mappings of old files are forgiven: `unmapped` is told of them. */
export function checkReferences({ config }: Facts, problem: Tell, unmapped: Tell): void {
  const policies = policyIds(config)
  const breakers = Object.keys(config.circuitBreakers ?? {})
  const pools = Object.keys(config.pools ?? {})
  const end =
    problem === unmapped ? `; write "?name" where it may be missing` : '; the default policy applies'

  for (const [subsystem, operations] of Object.entries(config.subsystemMappings ?? {}))
    for (const [operation, kinds] of Object.entries(operations))
      for (const [kind, id] of Object.entries(kinds)) {
        if (id.startsWith('?') || policies.has(id)) continue
        const path = ['subsystem_mappings', subsystem, operation, kind]
        unmapped(path, `got ${show(id)}, but there is no policy of that id${hint(id, policies)}${end}`)
      }
  const named = (path: readonly string[], breaker: string | null | undefined): void => {
    if (breaker != null && !breakers.includes(breaker))
      problem(
        path,
        `got ${show(breaker)}, but there is no breaker of that name under circuit_breakers${hint(breaker, breakers)}`,
      )
  }
  named(['global_defaults', 'circuit_breaker'], config.globalDefaults?.circuitBreaker)
  for (const [id, policy] of Object.entries(config.policies ?? {})) {
    named(['policies', id, 'circuit_breaker'], policy.circuitBreaker)
    if (policy.id !== undefined && policy.id !== id)
      problem(['policies', id, 'id'], `got ${show(policy.id)}, takes its key, ${show(id)}`)
  }
  for (const [id, pool] of Object.entries(config.pools ?? {})) {
    if (pool.policy !== undefined && !policies.has(pool.policy))
      problem(
        ['pools', id, 'policy'],
        `got ${show(pool.policy)}, but there is no policy of that id${hint(pool.policy, policies)}`,
      )
  }
  const pool = config.proxy?.pool
  if (pool !== undefined && !pools.includes(pool))
    problem(['proxy', 'pool'], `got ${show(pool)}, but there is no pool of that id${hint(pool, pools)}`)
}

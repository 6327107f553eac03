import { suggest } from '@holdfast/records'
import { formatValue } from '../problem.js'
import { BUILT_IN_POLICIES } from '../schema/built-in-policies.js'
import type { Config } from '../schema/schema.js'
import type { ReportProblem, RuleContext } from './rule-context.js'

/** The ids of all policies there are. */
export const policyIds = (config: Config): Set<string> =>
  new Set([...Object.keys(config.policies ?? {}), ...Object.keys(BUILT_IN_POLICIES)])

const suggestionHint = (word: string, known: Iterable<string>): string => {
  const suggestion = suggest(word, known)
  return suggestion === undefined ? '' : ` (did you mean ${suggestion}?)`
}

/** Checks that what is named is there. Mappings of old files are forgiven: `reportUnmapped` is told of them. */
export function checkReferences(
  { config }: RuleContext,
  report: ReportProblem,
  reportUnmapped: ReportProblem,
): void {
  const policies = policyIds(config)
  const breakers = Object.keys(config.circuitBreakers ?? {})
  const pools = Object.keys(config.pools ?? {})
  const end =
    report === reportUnmapped ? `; write "?name" where it may be missing` : '; the default policy applies'

  for (const [subsystem, operations] of Object.entries(config.subsystemMappings ?? {}))
    for (const [operation, kinds] of Object.entries(operations))
      for (const [kind, id] of Object.entries(kinds)) {
        if (id.startsWith('?') || policies.has(id)) continue
        const path = ['subsystem_mappings', subsystem, operation, kind]
        reportUnmapped(
          path,
          `got ${formatValue(id)}, but there is no policy of that id${suggestionHint(id, policies)}${end}`,
        )
      }
  const named = (path: readonly string[], breaker: string | null | undefined): void => {
    if (breaker != null && !breakers.includes(breaker))
      report(
        path,
        `got ${formatValue(breaker)}, but there is no breaker of that name under circuit_breakers${suggestionHint(breaker, breakers)}`,
      )
  }
  named(['global_defaults', 'circuit_breaker'], config.globalDefaults?.circuitBreaker)
  for (const [id, policy] of Object.entries(config.policies ?? {})) {
    named(['policies', id, 'circuit_breaker'], policy.circuitBreaker)
    if (policy.id !== undefined && policy.id !== id)
      report(['policies', id, 'id'], `got ${formatValue(policy.id)}, takes its key, ${formatValue(id)}`)
  }
  for (const [id, pool] of Object.entries(config.pools ?? {})) {
    if (pool.policy !== undefined && !policies.has(pool.policy))
      report(
        ['pools', id, 'policy'],
        `got ${formatValue(pool.policy)}, but there is no policy of that id${suggestionHint(pool.policy, policies)}`,
      )
  }
  const pool = config.proxy?.pool
  if (pool !== undefined && !pools.includes(pool))
    report(
      ['proxy', 'pool'],
      `got ${formatValue(pool)}, but there is no pool of that id${suggestionHint(pool, pools)}`,
    )
}

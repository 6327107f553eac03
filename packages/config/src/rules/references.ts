import { suggest } from '@holdfast/records'
import { formatValue } from '../problems/format-value.js'
import { mismatch, notFound, type ProblemFacts } from '../problems/problem.js'
import { BUILT_IN_POLICIES } from '../schema/built-in-policies.js'
import type { Config } from '../schema/schema.js'
import type { ReportProblem, RuleContext } from './rule-context.js'

/** The ids of all policies. */
export const policyIds = (config: Config): Set<string> =>
  new Set([...Object.keys(config.policies ?? {}), ...Object.keys(BUILT_IN_POLICIES)])

const unknownReference = (expected: string, name: string, known: Iterable<string>): ProblemFacts =>
  notFound(expected, formatValue(name), suggest(name, known))

/**
 * Checks that referenced policies, breakers and pools exist. Mappings of old files may name unknown policies; those are
 * reported to `reportUnmapped`.
 */
export function checkReferences(
  { config }: RuleContext,
  report: ReportProblem,
  reportUnmapped: ReportProblem,
): void {
  const policies = policyIds(config)
  const breakers = Object.keys(config.circuitBreakers ?? {})
  const pools = Object.keys(config.pools ?? {})
  const hint =
    report === reportUnmapped ? 'write "?name" where it may be missing' : 'the default policy applies'

  for (const [subsystem, operations] of Object.entries(config.subsystemMappings ?? {}))
    for (const [operation, kinds] of Object.entries(operations))
      for (const [kind, id] of Object.entries(kinds)) {
        if (id.startsWith('?') || policies.has(id)) continue
        const path = ['subsystem_mappings', subsystem, operation, kind]
        reportUnmapped(path, { ...unknownReference('the id of a policy', id, policies), hint })
      }
  const named = (path: readonly string[], breaker: string | null | undefined): void => {
    if (breaker != null && !breakers.includes(breaker))
      report(path, unknownReference('a name under circuit_breakers', breaker, breakers))
  }
  named(['global_defaults', 'circuit_breaker'], config.globalDefaults?.circuitBreaker)
  for (const [id, policy] of Object.entries(config.policies ?? {})) {
    named(['policies', id, 'circuit_breaker'], policy.circuitBreaker)
    if (policy.id !== undefined && policy.id !== id)
      report(['policies', id, 'id'], mismatch(`its key, ${formatValue(id)}`, formatValue(policy.id)))
  }
  for (const [id, pool] of Object.entries(config.pools ?? {})) {
    if (pool.policy !== undefined && !policies.has(pool.policy))
      report(['pools', id, 'policy'], unknownReference('the id of a policy', pool.policy, policies))
  }
  const pool = config.proxy?.pool
  if (pool !== undefined && !pools.includes(pool))
    report(['proxy', 'pool'], unknownReference('the id of a pool', pool, pools))
}

import { suggest } from '@holdfast/records'
import { formatValue } from '../problems/format-value.js'
import { mismatch, notFound, type ProblemFacts } from '../problems/problem.js'
import { BUILT_IN_POLICIES } from '../schema/built-in-policies.js'
import type { Config } from '../schema/schema.js'
import type { ReportProblem, RuleContext } from './rule-context.js'

/** The ids of all policies. */
export const policyIds = (config: Config): Set<string> =>
  new Set([...Object.keys(config.policies ?? {}), ...Object.keys(BUILT_IN_POLICIES)])

/** How many unknown names get a suggestion, and with how many known names each is compared, because a comparison takes long. */
const MAX_SUGGESTIONS = 20
const MAX_COMPARED_NAMES = 1000
const MAX_COMPARED_LENGTH = 100

function suggestName(name: string, known: Iterable<string>): string | undefined {
  const compared: string[] = []
  for (const each of known) {
    if (compared.length === MAX_COMPARED_NAMES) break
    if (each.length <= MAX_COMPARED_LENGTH) compared.push(each)
  }
  return suggest(name, compared)
}

/**
 * Checks that referenced policies, breakers and pools exist. Mappings of old files may name unknown policies; those are
 * reported to `reportUnmapped`.
 */
export function checkReferences(
  { config, formatValueAt }: RuleContext,
  report: ReportProblem,
  reportUnmapped: ReportProblem,
): void {
  const policies = policyIds(config)
  const breakers = new Set(Object.keys(config.circuitBreakers ?? {}))
  const pools = Object.keys(config.pools ?? {})
  const hint =
    report === reportUnmapped ? 'write "?name" where it may be missing' : 'the default policy applies'
  let suggestions = 0
  /** The problem of a name that is not known. `got` is the name as messages can show it: it can come from a variable. */
  const unknownReference = (
    expected: string,
    got: string,
    name: string,
    known: Iterable<string>,
  ): ProblemFacts =>
    notFound(expected, got, suggestions++ < MAX_SUGGESTIONS ? suggestName(name, known) : undefined)

  for (const [subsystem, operations] of Object.entries(config.subsystemMappings ?? {}))
    for (const [operation, kinds] of Object.entries(operations))
      for (const [kind, id] of Object.entries(kinds)) {
        if (id.startsWith('?') || policies.has(id)) continue
        const path = ['subsystem_mappings', subsystem, operation, kind]
        const got = formatValueAt(path)
        reportUnmapped(path, { ...unknownReference('the id of a policy', got, id, policies), hint })
      }
  const named = (path: readonly string[], breaker: string | null | undefined): void => {
    if (breaker != null && !breakers.has(breaker))
      report(path, unknownReference('a name under circuit_breakers', formatValueAt(path), breaker, breakers))
  }
  named(['global_defaults', 'circuit_breaker'], config.globalDefaults?.circuitBreaker)
  for (const [id, policy] of Object.entries(config.policies ?? {})) {
    named(['policies', id, 'circuit_breaker'], policy.circuitBreaker)
    const path = ['policies', id, 'id']
    if (policy.id !== undefined && policy.id !== id)
      report(path, mismatch(`its key, ${formatValue(id)}`, formatValueAt(path)))
  }
  for (const [id, pool] of Object.entries(config.pools ?? {})) {
    const path = ['pools', id, 'policy']
    if (pool.policy !== undefined && !policies.has(pool.policy))
      report(path, unknownReference('the id of a policy', formatValueAt(path), pool.policy, policies))
  }
  const pool = config.proxy?.pool
  if (pool !== undefined && !pools.includes(pool))
    report(
      ['proxy', 'pool'],
      unknownReference('the id of a pool', formatValueAt(['proxy', 'pool']), pool, pools),
    )
}

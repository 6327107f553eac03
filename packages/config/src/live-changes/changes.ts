import { snakeKey } from '@holdfast/records'
import { DEFAULT_POLICY_ID } from '@holdfast/records/constants'
import { HoldfastError } from 'holdfast'
import { parsePolicyEntry } from '../check/policy-entry.js'
import { createConfigInvalid } from '../problems/describe.js'
import { formatPath, formatValue } from '../problems/format-value.js'
import { type ConfigProblem, mismatch, notFound } from '../problems/problem.js'
import {
  conflictFacts,
  findFieldConflicts,
  type PolicySource,
  resolvePolicies,
  resolvePolicy,
} from '../resolve/resolve-policy.js'
import { policyIds } from '../rules/references.js'
import type { Layer, WirePolicyEntry } from '../schema/layer.js'
import { type Config, type PolicyEntry, policyEntryCodec } from '../schema/schema.js'
import { formatKeyAs, type KeyStyle } from '../schema/walk.js'

/**
 * Returns a layer with a policy. It contains only the fields that differ from the config, so that later changes of other
 * fields in the config take effect. It replaces an earlier `put`.
 *
 * @param spelling - the spelling of the policy: `code` is camelCase and milliseconds, `wire` is snake_case and seconds
 * @throws CONFIG_INVALID that lists all problems of the policy
 */
export function putPolicy(
  source: PolicySource,
  layer: Layer,
  input: unknown,
  spelling: KeyStyle = 'code',
): Layer {
  const { id, entry } = parsePolicy(source.config, input, spelling)
  const below = resolvePolicy(source, id)
  const exists = policyIds(source.config).has(id)
  const changed = Object.entries(entry).filter(
    ([field, value]) =>
      field !== 'id' && !(exists && isSameValue(value, below.policy[field as keyof typeof below.policy])),
  )
  const resolved = resolvePolicy(source, id, Object.fromEntries(changed) as PolicyEntry)
  const problems = findFieldConflicts(resolved).map(
    (conflict): ConfigProblem => ({
      ...conflictFacts(resolved, conflict),
      path: formatKeyAs(snakeKey(conflict.field), spelling),
      spelling,
    }),
  )
  if (problems.length > 0) throw createConfigInvalid(`the policy ${JSON.stringify(id)}`, problems)
  const wire = policyEntryCodec.encode(Object.fromEntries(changed) as PolicyEntry) as WirePolicyEntry
  return { ...layer, policies: { ...layer.policies, [id]: wire } }
}

const isSameValue = (a: unknown, b: unknown): boolean =>
  JSON.stringify(a ?? null) === JSON.stringify(b ?? null)

/** Checks the fields and references of a policy. */
function parsePolicy(config: Config, input: unknown, spelling: KeyStyle): { id: string; entry: PolicyEntry } {
  const problems: ConfigProblem[] = []
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    throw createConfigInvalid('the policy', [
      { path: '', ...mismatch('an object with an id', formatValue(input)) },
    ])
  const entry = parsePolicyEntry(input, spelling, problems)
  const breakerKey = formatKeyAs('circuit_breaker', spelling)
  const { id } = input as { id?: unknown }
  if (typeof id !== 'string' || id.trim() === '' || id === '__proto__')
    problems.push({ path: 'id', ...mismatch('the id of the policy', formatValue(id)) })
  const breaker = entry.circuitBreaker
  if (breaker != null && !Object.hasOwn(config.circuitBreakers ?? {}, breaker))
    problems.push({ path: breakerKey, ...notFound('a name under circuit_breakers', formatValue(breaker)) })
  if (problems.length > 0) throw createConfigInvalid('the policy', problems)
  return { id: id as string, entry }
}

/**
 * Returns a layer without a policy. Changes made through the API are dropped; a policy of the config or a built-in one is
 * marked as deleted.
 *
 * @throws POLICY_NOT_FOUND, or POLICY_IN_USE where the config refers to it
 */
export function deletePolicy(source: PolicySource, layer: Layer, id: string): Layer {
  if (!resolvePolicies(source, layer).has(id))
    throw new HoldfastError('POLICY_NOT_FOUND', `there is no policy ${JSON.stringify(id)}`)
  const users = policyReferences(source.config, id)
  if (users.length > 0)
    throw new HoldfastError(
      'POLICY_IN_USE',
      `the policy ${JSON.stringify(id)} is used by ${users.join(', ')}; remove it there first`,
      { details: users },
    )
  const { [id]: _, ...others } = layer.policies ?? {}
  const policies = policyIds(source.config).has(id) ? { ...others, [id]: null } : others
  return { ...layer, policies }
}

/** The paths of a config that refer to a policy. */
function policyReferences(config: Config, id: string): string[] {
  const users = id === DEFAULT_POLICY_ID ? ['every operation without another policy'] : []
  for (const [subsystem, operations] of Object.entries(config.subsystemMappings ?? {}))
    for (const [operation, kinds] of Object.entries(operations))
      for (const [kind, named] of Object.entries(kinds))
        if (named === id) users.push(formatPath(['subsystem_mappings', subsystem, operation, kind]))
  for (const [pool, { policy }] of Object.entries(config.pools ?? {}))
    if (policy === id) users.push(formatPath(['pools', pool, 'policy']))
  return users
}

import { snakeKey } from '@holdfast/records'
import { HoldfastError } from 'holdfast'
import { parsePolicyEntry } from '../check/policy-entry.js'
import { createConfigInvalid, formatPath, formatValue, type Problem } from '../problem.js'
import {
  findFieldConflicts,
  type PolicySource,
  resolvePolicies,
  resolvePolicy,
} from '../resolve/resolve-policy.js'
import { policyIds } from '../rules/references.js'
import { DEFAULT_POLICY_ID } from '../schema/built-in-policies.js'
import type { Layer, WirePolicyEntry } from '../schema/layer.js'
import { type Config, type PolicyEntry, policyEntryCodec } from '../schema/schema.js'
import type { KeyStyle } from '../schema/walk.js'

/**
 * A layer with a policy put: with its fields where they differ from what the config says, so that later changes of the
 * config to the others are seen. It replaces what an earlier put said.
 *
 * @param spelling - that of the policy: `code` is camelCase and milliseconds, `wire` is snake_case and seconds
 * @throws CONFIG_INVALID that lists everything wrong with the policy
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
  const unit = spelling === 'wire' ? 1000 : 1
  const name = (field: string) => (spelling === 'wire' ? snakeKey(field) : field)
  const problems = findFieldConflicts(resolved).map(
    ({ field, minimumField }): Problem => ({
      path: name(field),
      message: `got ${resolved.policy[field] / unit}, takes at least ${name(minimumField)}, which is ${resolved.policy[minimumField] / unit}`,
    }),
  )
  if (problems.length > 0) throw createConfigInvalid(`the policy ${JSON.stringify(id)}`, problems)
  const wire = policyEntryCodec.encode(Object.fromEntries(changed) as PolicyEntry) as WirePolicyEntry
  return { ...layer, policies: { ...layer.policies, [id]: wire } }
}

const isSameValue = (a: unknown, b: unknown): boolean =>
  JSON.stringify(a ?? null) === JSON.stringify(b ?? null)

/** Checks a policy by itself and what it names. */
function parsePolicy(config: Config, input: unknown, spelling: KeyStyle): { id: string; entry: PolicyEntry } {
  const problems: Problem[] = []
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    throw createConfigInvalid('the policy', [
      { path: '', message: `got ${formatValue(input)}, takes an object with an id` },
    ])
  const entry = parsePolicyEntry(input, spelling, problems)
  const breakerKey = spelling === 'wire' ? 'circuit_breaker' : 'circuitBreaker'
  const { id } = input as { id?: unknown }
  if (typeof id !== 'string' || id.trim() === '' || id === '__proto__')
    problems.push({ path: 'id', message: `got ${formatValue(id)}, takes the id of the policy` })
  const breaker = entry.circuitBreaker
  if (breaker != null && !Object.hasOwn(config.circuitBreakers ?? {}, breaker))
    problems.push({
      path: breakerKey,
      message: `got ${formatValue(breaker)}, but there is no breaker of that name`,
    })
  if (problems.length > 0) throw createConfigInvalid('the policy', problems)
  return { id: id as string, entry }
}

/**
 * A layer without a policy: what was put through the API is dropped; one that the config has, or that is there from the
 * start, is noted as deleted.
 *
 * @throws POLICY_NOT_FOUND, or POLICY_IN_USE where something is mapped to it
 */
export function deletePolicy(source: PolicySource, layer: Layer, id: string): Layer {
  if (!resolvePolicies(source, layer).has(id))
    throw new HoldfastError('POLICY_NOT_FOUND', `there is no policy ${JSON.stringify(id)}`)
  const users = policyReferences(source.config, id)
  if (users.length > 0)
    throw new HoldfastError(
      'POLICY_IN_USE',
      `the policy ${JSON.stringify(id)} is used by ${users.join(', ')}: take it out there first`,
      { details: users },
    )
  const { [id]: _, ...others } = layer.policies ?? {}
  const policies = policyIds(source.config).has(id) ? { ...others, [id]: null } : others
  return { ...layer, policies }
}

/** The places of a config that name a policy. */
function policyReferences(config: Config, id: string): string[] {
  const users = id === DEFAULT_POLICY_ID ? ['every operation that has no other'] : []
  for (const [subsystem, operations] of Object.entries(config.subsystemMappings ?? {}))
    for (const [operation, kinds] of Object.entries(operations))
      for (const [kind, named] of Object.entries(kinds))
        if (named === id) users.push(formatPath(['subsystem_mappings', subsystem, operation, kind]))
  for (const [pool, { policy }] of Object.entries(config.pools ?? {}))
    if (policy === id) users.push(formatPath(['pools', pool, 'policy']))
  return users
}

import { HoldfastError } from 'holdfast'
import { snakeKey } from '../../codec/twin.js'
import { readEntry } from '../entry.js'
import { configInvalid, type Problem, pathText, show } from '../problem.js'
import { DEFAULT_POLICY } from '../ready.js'
import { contradictions, type PolicySource, resolvePolicies, resolvePolicy } from '../resolve.js'
import { policyIds } from '../rules/references.js'
import { type Config, type PolicyEntry, policyEntryCodec } from '../schema/schema.js'
import type { Spelling } from '../schema/walk.js'
import type { Layer, WirePolicyEntry } from './layer.js'

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
  given: unknown,
  spelling: Spelling = 'code',
): Layer {
  const { id, entry } = readPolicy(source.config, given, spelling)
  const below = resolvePolicy(source, id)
  const exists = policyIds(source.config).has(id)
  const changed = Object.entries(entry).filter(
    ([field, value]) =>
      field !== 'id' && !(exists && isSame(value, below.policy[field as keyof typeof below.policy])),
  )
  const resolved = resolvePolicy(source, id, Object.fromEntries(changed) as PolicyEntry)
  const unit = spelling === 'wire' ? 1000 : 1
  const name = (field: string) => (spelling === 'wire' ? snakeKey(field) : field)
  const problems = contradictions(resolved).map(
    ({ field, least }): Problem => ({
      path: name(field),
      message: `got ${resolved.policy[field] / unit}, takes at least ${name(least)}, which is ${resolved.policy[least] / unit}`,
    }),
  )
  if (problems.length > 0) throw configInvalid(`the policy ${JSON.stringify(id)}`, problems)
  const wire = policyEntryCodec.encode(Object.fromEntries(changed) as PolicyEntry) as WirePolicyEntry
  return { ...layer, policies: { ...layer.policies, [id]: wire } }
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a ?? null) === JSON.stringify(b ?? null)

/** Checks a policy by itself and what it names. */
function readPolicy(config: Config, given: unknown, spelling: Spelling): { id: string; entry: PolicyEntry } {
  const problems: Problem[] = []
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw configInvalid('the policy', [
      { path: '', message: `got ${show(given)}, takes an object with an id` },
    ])
  const entry = readEntry(given, spelling, problems)
  const { id } = given as { id?: unknown }
  if (typeof id !== 'string' || id.trim() === '' || id === '__proto__')
    problems.push({ path: 'id', message: `got ${show(id)}, takes the id of the policy` })
  const breaker = entry.circuitBreaker
  if (breaker != null && !Object.hasOwn(config.circuitBreakers ?? {}, breaker))
    problems.push({
      path: 'circuitBreaker',
      message: `got ${show(breaker)}, but there is no breaker of that name`,
    })
  if (problems.length > 0) throw configInvalid('the policy', problems)
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
  const users = usersOf(source.config, id)
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
function usersOf(config: Config, id: string): string[] {
  const users = id === DEFAULT_POLICY ? ['every operation that has no other'] : []
  for (const [subsystem, operations] of Object.entries(config.subsystemMappings ?? {}))
    for (const [operation, kinds] of Object.entries(operations))
      for (const [kind, named] of Object.entries(kinds))
        if (named === id) users.push(pathText(['subsystem_mappings', subsystem, operation, kind]))
  for (const [pool, { policy }] of Object.entries(config.pools ?? {}))
    if (policy === id) users.push(pathText(['pools', pool, 'policy']))
  return users
}

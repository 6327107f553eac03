import { type AnyPolicyField, camelKey, POLICY_FIELDS, type RetryPolicy, snakeKey } from '@holdfast/records'
import type { DurationValue, ProblemFacts } from '../problems/problem.js'
import { BUILT_IN_POLICIES } from '../schema/built-in-policies.js'
import type { Layer } from '../schema/layer.js'
import { type Config, type PolicyEntry, policyEntryCodec } from '../schema/schema.js'
import { locationKey, type SourceLocations } from '../source-locations.js'

/** The layers that can set a value, lowest precedence first. */
type Origin = 'built-in' | 'global_defaults' | 'policy' | 'overrides' | 'environment' | 'api'

/** The precedence of each layer. */
export const ORIGIN_RANK: Readonly<Record<Origin, number>> = {
  'built-in': 0,
  global_defaults: 1,
  policy: 2,
  overrides: 3,
  environment: 4,
  api: 5,
}

/** The origin of the values of built-in policies. */
export const BUILT_IN_POLICY = 'built-in policy'

/** The origin of one value. */
export interface FieldOrigin {
  /** The layer that sets the value. */
  readonly origin: Origin
  /** `file:line:column`, or the name of a variable, if that is known. */
  readonly where?: string
}

/** A policy with all values, and the origin of each. */
export interface ResolvedPolicy {
  readonly policy: RetryPolicy
  readonly origins: { readonly [field: string]: FieldOrigin }
}

const FIELDS = Object.entries(POLICY_FIELDS as { readonly [name: string]: AnyPolicyField })

/** The default values of fields, by their name in TypeScript. */
const defaultValues = (fields: readonly (readonly [name: string, field: AnyPolicyField])[]): object =>
  Object.freeze(
    Object.fromEntries(
      fields.flatMap(([name, field]) => ('default' in field ? [[camelKey(name), field.default]] : [])),
    ),
  )

/** The default values of policies. */
export const POLICY_DEFAULTS = defaultValues(FIELDS) as Partial<RetryPolicy>

/** A config and the locations of its values. */
export interface PolicySource {
  /** The content of the config file. */
  readonly config: Config
  /** The position of each value in the file. */
  readonly places?: SourceLocations | undefined
}

/** Resolves all policies, layer by layer. */
export function resolvePolicies(source: PolicySource, layer?: Layer): Map<string, ResolvedPolicy> {
  const { config } = source
  const changes = layer?.policies ?? {}
  const own = config.policies ?? {}
  const ids = new Set([...Object.keys(BUILT_IN_POLICIES), ...Object.keys(own), ...Object.keys(changes)])
  const resolved = new Map<string, ResolvedPolicy>()
  for (const id of ids) {
    const change = Object.hasOwn(changes, id) ? changes[id] : undefined
    if (change === null) continue
    resolved.set(id, resolvePolicy(source, id, change && policyEntryCodec.decode(change)))
  }
  return resolved
}

/** Resolves one policy; `change` contains the fields that were changed through the API. */
export function resolvePolicy(source: PolicySource, id: string, change?: PolicyEntry): ResolvedPolicy {
  const { policies, globalDefaults = {} } = source.config
  const own = policies !== undefined && Object.hasOwn(policies, id) ? policies[id] : undefined
  const entry = own ?? (Object.hasOwn(BUILT_IN_POLICIES, id) ? BUILT_IN_POLICIES[id] : undefined) ?? {}
  const values: Record<string, unknown> = {
    name: id,
    ...POLICY_DEFAULTS,
    ...globalDefaults,
    ...entry,
    ...change,
    id,
  }
  // A maximum delay also limits a base delay that no layer set. The two contradict each other only if both were set.
  const usesBuiltIn = own === undefined && entry.baseDelay !== undefined
  const givenBaseDelay =
    change?.baseDelay ?? own?.baseDelay ?? (usesBuiltIn ? undefined : globalDefaults.baseDelay)
  if (givenBaseDelay === undefined)
    values.baseDelay = Math.min(values.baseDelay as number, values.maxDelay as number)
  return new LazyResolvedPolicy(fillDefaults(values), () => originsFor(source, id, own, entry, change))
}

/** A policy whose origins are computed when they are first read. */
class LazyResolvedPolicy implements ResolvedPolicy {
  readonly policy: RetryPolicy
  private computeOrigins: (() => ResolvedPolicy['origins']) | undefined
  private cachedOrigins: ResolvedPolicy['origins'] = {}

  constructor(policy: RetryPolicy, make: () => ResolvedPolicy['origins']) {
    this.policy = policy
    this.computeOrigins = make
  }

  get origins(): ResolvedPolicy['origins'] {
    if (this.computeOrigins !== undefined) this.cachedOrigins = this.computeOrigins()
    this.computeOrigins = undefined
    return this.cachedOrigins
  }
}

function originsFor(
  { config, places = {} }: PolicySource,
  id: string,
  own: PolicyEntry | undefined,
  entry: PolicyEntry,
  change: PolicyEntry | undefined,
): ResolvedPolicy['origins'] {
  const origins: Record<string, FieldOrigin> = {}
  const addOrigins = (entries: PolicyEntry | undefined, originOf: (field: string) => FieldOrigin): void => {
    for (const [field, value] of Object.entries(entries ?? {}))
      if (value !== undefined && field !== 'id') origins[field] = originOf(field)
  }
  addOrigins(POLICY_DEFAULTS, () => ({ origin: 'built-in' }))
  addOrigins(config.globalDefaults, (field) =>
    createOrigin('global_defaults', places[locationKey('global_defaults', field)]),
  )
  addOrigins(entry, (field) =>
    createOrigin('policy', own === undefined ? BUILT_IN_POLICY : places[locationKey('policies', id, field)]),
  )
  addOrigins(change, () => ({ origin: 'api' }))
  return Object.freeze(origins)
}

const createOrigin = (origin: Origin, where: string | undefined): FieldOrigin =>
  where === undefined ? { origin } : { origin: isVariableOrigin(where) ? 'environment' : origin, where }

/** Names of variables contain no colon, unlike locations in a file. */
const isVariableOrigin = (where: string): boolean => /^[A-Z0-9_]+$/.test(where)

/** The default values of nested settings. */
const PART_DEFAULTS: { readonly [field: string]: object } = Object.fromEntries(
  FIELDS.flatMap(([name, { fields }]) =>
    fields === undefined ? [] : [[camelKey(name), defaultValues(Object.entries(fields))]],
  ),
)

/** Completes a policy. Null and infinite timeouts mean no limit. */
function fillDefaults(values: Record<string, unknown>): RetryPolicy {
  for (const part of Object.keys(PART_DEFAULTS))
    if (values[part] != null)
      values[part] = Object.freeze({ ...PART_DEFAULTS[part], ...(values[part] as object) })
  for (const field of OPTIONAL_FIELDS)
    if (values[field] === null || values[field] === Number.POSITIVE_INFINITY) delete values[field]
  return Object.freeze(values) as RetryPolicy
}

/** The fields that a policy can omit. */
const OPTIONAL_FIELDS = FIELDS.flatMap(([name, { nullable }]) => (nullable ? [camelKey(name)] : []))

/** Two fields of a policy that contradict each other. */
export interface FieldConflict {
  /** The field that is too small, and the field whose value it must reach. */
  readonly field: 'maxDelay' | 'jitterMax'
  readonly minimumField: 'baseDelay' | 'jitterMin'
}

/** Finds contradicting fields in a resolved policy. */
export function findFieldConflicts({ policy }: ResolvedPolicy): FieldConflict[] {
  const found: FieldConflict[] = []
  if (policy.maxDelay < policy.baseDelay) found.push({ field: 'maxDelay', minimumField: 'baseDelay' })
  if (policy.jitterMax < policy.jitterMin) found.push({ field: 'jitterMax', minimumField: 'jitterMin' })
  return found
}

/** The problem of contradicting fields. */
export const conflictFacts = (
  { policy, origins }: ResolvedPolicy,
  { field, minimumField }: FieldConflict,
): ProblemFacts => {
  const durationOf = (name: FieldConflict[keyof FieldConflict]): DurationValue => {
    const origin = origins[name]?.origin
    const isInherited = origin === 'built-in' || origin === 'global_defaults'
    return { ms: policy[name], ...(isInherited && { origin }) }
  }
  return {
    code: 'conflict',
    expected: { atLeast: snakeKey(minimumField), value: durationOf(minimumField) },
    got: durationOf(field),
  }
}

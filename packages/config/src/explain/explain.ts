import { snakeKey } from '@holdfast/records'
import { type Duration, HoldfastError } from 'holdfast'
import type { DecoratedMethod } from 'holdfast/decorators'
import { parseDuration } from 'holdfast/internal'
import { type HiddenValue, hiddenValues } from '../active-config/hidden.js'
import { formatValue } from '../problems/format-value.js'
import { resolveOperation } from '../resolve/operations.js'
import { OverriddenPolicies } from '../resolve/overridden.js'
import type { OverriddenPolicy } from '../resolve/override-policy.js'
import { mappedOperations } from '../resolve/override-scopes.js'
import { undeclaredClasses } from '../resolve/overrides.js'
import type { OwnBreaker } from '../resolve/own-breaker.js'
import type { ResolvedConfig } from '../resolve/resolve-config.js'
import type { FieldOrigin } from '../resolve/resolve-policy.js'
import { policyEntryCodec } from '../schema/schema.js'
import { computeSchedule, type Schedule } from './schedule.js'
import { unknownNames } from './unknown-operation.js'

/** A value and its origin. */
export interface ExplainedValue extends FieldOrigin {
  /** The effective value. */
  readonly value: unknown
}

/** The policy for one kind of failure. */
export interface ExplainedPolicy {
  /** The kind of failure; `default` for every kind that is not listed. */
  readonly kind: string
  /** The id of the policy. */
  readonly policyId: string
  /** False if the policy is disabled. */
  readonly enabled: boolean
  /** Every effective value, durations in milliseconds. */
  readonly values: { readonly [field: string]: ExplainedValue }
  /** The delays of the policy. */
  readonly schedule: Schedule
  /** The id of the breaker that applies, if there is one. The `service` of a call takes precedence. */
  readonly breaker?: string
}

/** How an operation is protected, and why. */
export interface Explanation {
  /** The name of the operation. */
  readonly operation: string
  /** The subsystem of the operation, if it has one. */
  readonly subsystem?: string
  /** False if the operation is disabled. */
  readonly enabled: boolean
  /** The policy for each kind of failure. */
  readonly policies: readonly ExplainedPolicy[]
  /**
   * Notes about names that the configuration does not know, values that a change through the API hides, changes that are
   * ignored, and classes that are not declared.
   */
  readonly notes: readonly string[]
}

/** The id of the breaker of a policy's calls, if there is one. */
function breakerIdOf(policy: {
  id: string
  circuitBreaker?: string | null | undefined
  enableCircuitBreaker: boolean
}): string | undefined {
  if (policy.circuitBreaker != null) return `service:${encodeURIComponent(policy.circuitBreaker)}`
  return policy.enableCircuitBreaker ? `policy:${encodeURIComponent(policy.id)}` : undefined
}

/**
 * Explains how an operation is protected: the policy for each kind of failure, the origin of each value, and the resulting
 * delays. `leftOut` has a note for each policy whose changes through the API are ignored.
 */
export function explain(
  resolved: ResolvedConfig,
  operation: string,
  methods: Iterable<DecoratedMethod> = [],
  leftOut: ReadonlyMap<string, string> = new Map(),
): Explanation {
  if (typeof operation !== 'string')
    throw new HoldfastError('INVALID_OPTIONS', `operation: expected a name, got ${formatValue(operation)}`)
  const { subsystem, isEnabled, policyByKind, fallbackPolicyId } = resolveOperation(resolved, operation)
  const overridden = new OverriddenPolicies(resolved)
  const policyOf = overridden.forOperation(operation)
  const usedPolicies = new Set([...policyByKind.values(), fallbackPolicyId])
  const hidden = hiddenValues(resolved).filter(({ policyId }) => usedPolicies.has(policyId))
  const explained = [...policyByKind, ['default', fallbackPolicyId] as const].map(([kind, id]) =>
    explainPolicy(overridden, policyOf, kind, id),
  )
  return {
    operation,
    ...(subsystem !== undefined && { subsystem }),
    enabled: isEnabled,
    policies: explained.map(({ policy }) => policy),
    notes: [
      ...unknownNames(resolved, operation),
      ...hidden.map(formatHiddenNote),
      ...[...usedPolicies].flatMap((id) => leftOut.get(id) ?? []),
      ...new Set(explained.flatMap(({ notes }) => notes)),
      ...undeclaredNotes(resolved, methods, [operation]),
    ],
  }
}

/** Notes about classes in overrides that are neither decorated methods nor operations, as far as that is known. */
export const undeclaredNotes = (
  { config, policies }: Pick<ResolvedConfig, 'config' | 'policies'>,
  methods: Iterable<DecoratedMethod> = [],
  operations: readonly string[] = [],
): string[] =>
  undeclaredClasses(config.overrides, methods, [
    ...operations,
    ...policies.keys(),
    ...mappedOperations(config),
  ]).map((place) => `overrides name ${place}, of which no decorated method is known yet`)

/** The note that a change through the API hides a value of the file. */
export function formatHiddenNote({ policyId, field, value, below, where }: HiddenValue): string {
  const location = where === undefined ? '' : ` (${where})`
  const key = snakeKey(field)
  const format = (value: unknown) =>
    JSON.stringify((policyEntryCodec.encode({ [field]: value }) as Record<string, unknown>)[key])
  return `policies.${policyId}.${key}: the ${format(below)} of the config${location} is hidden by ${format(value)}, a change through the API`
}

interface Explained {
  readonly policy: ExplainedPolicy
  readonly notes: readonly string[]
}

function explainPolicy(
  overridden: OverriddenPolicies,
  policyOf: (id: string) => OverriddenPolicy | undefined,
  kind: string,
  policyId: string,
): Explained {
  const found = policyOf(policyId)
  if (found === undefined)
    throw new HoldfastError('POLICY_NOT_FOUND', `there is no policy ${JSON.stringify(policyId)}`)
  const { policy, origins } = found
  const values: Record<string, ExplainedValue> = {}
  for (const [field, origin] of Object.entries(origins))
    values[field] = { value: policy[field as keyof typeof policy] ?? null, ...origin }
  const breaker = breakerIdOf(policy)
  const notes = [...found.notes]
  if (breaker !== undefined && policy.circuitBreaker == null)
    notes.push(...explainBreaker(overridden.ownBreaker(policy), breaker, values))
  return {
    policy: {
      kind,
      policyId,
      enabled: policy.enabled,
      values,
      schedule: computeSchedule(policy),
      ...(breaker !== undefined && { breaker }),
    },
    notes,
  }
}

/** Adds the overrides of a policy's own breaker to its values, and notes those without a policy field. */
function explainBreaker(
  { options, overrides }: OwnBreaker,
  id: string,
  values: Record<string, ExplainedValue>,
): string[] {
  const notes: string[] = []
  for (const [word, { key, origin }] of overrides) {
    const value = options[word as keyof typeof options]
    const field = BREAKER_FIELDS[word]
    if (field !== undefined)
      values[field] = {
        value: word === 'timeoutDuration' ? parseDuration(value as Duration) : value,
        ...origin,
      }
    else
      notes.push(
        `the breaker ${id} has ${word} ${JSON.stringify(value)} by ${origin.origin === 'environment' ? origin.where : `overrides[${JSON.stringify(key)}]`}`,
      )
  }
  return notes
}

/** The policy fields for breaker options. */
const BREAKER_FIELDS: { readonly [word: string]: string } = {
  failureThreshold: 'circuitBreakerThreshold',
  timeoutDuration: 'circuitBreakerTimeout',
}

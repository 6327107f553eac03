import { HoldfastError } from 'holdfast'
import { snakeKey } from '../codec/twin.js'
import { type HiddenValue, hiddenValues } from './layer/hidden.js'
import { resolveOperation } from './operations.js'
import { type DecoratedMethod, undeclared } from './overrides.js'
import { show } from './problem.js'
import type { FieldOrigin } from './resolve.js'
import type { ResolvedConfig } from './resolved.js'
import { type Schedule, scheduleOf } from './schedule.js'
import { policyEntryCodec } from './schema/schema.js'
import { unknownNames } from './unknown-operation.js'

/** A value, and where it comes from. */
export interface ExplainedValue extends FieldOrigin {
  readonly value: unknown
}

/** The policy for one kind of failure. */
export interface ExplainedPolicy {
  /** The kind of failure; `default` for every kind that is not listed. */
  readonly kind: string
  readonly policyId: string
  readonly enabled: boolean
  /** Every effective value, durations in milliseconds. */
  readonly values: { readonly [field: string]: ExplainedValue }
  /** The waits that it means. */
  readonly schedule: Schedule
  /** The id of the breaker that applies, where one does; a call's `service` wins over it. */
  readonly breaker?: string
}

/** How an operation is guarded, and why. */
export interface Explanation {
  readonly operation: string
  readonly subsystem?: string
  /** False where calls go straight through. */
  readonly enabled: boolean
  readonly policies: readonly ExplainedPolicy[]
  /** What may surprise: names that the configuration does not know, values that a change through the API hides, such changes that are left out, classes that nobody declared. */
  readonly notes: readonly string[]
}

/** The id of the breaker that a policy's calls have, where they have one. */
function breakerIdOf(policy: {
  id: string
  circuitBreaker?: string | null | undefined
  enableCircuitBreaker: boolean
}): string | undefined {
  if (policy.circuitBreaker != null) return `service:${encodeURIComponent(policy.circuitBreaker)}`
  return policy.enableCircuitBreaker ? `policy:${encodeURIComponent(policy.id)}` : undefined
}

/**
 * Tells how an operation is guarded: for each kind of failure its policy, where each value comes from, and the waits that
 * it means. `leftOut` says of policies what was changed through the API and is not in force.
 */
export function explain(
  resolved: ResolvedConfig,
  operation: string,
  methods: Iterable<DecoratedMethod> = [],
  leftOut: ReadonlyMap<string, string> = new Map(),
): Explanation {
  if (typeof operation !== 'string')
    throw new HoldfastError('INVALID_OPTIONS', `operation: got ${show(operation)}, takes a name`)
  const { subsystem, enabled, kinds, fallbackPolicyId } = resolveOperation(resolved, operation)
  const used = new Set([...kinds.values(), fallbackPolicyId])
  const hidden = hiddenValues(resolved).filter(({ policyId }) => used.has(policyId))
  return {
    operation,
    ...(subsystem !== undefined && { subsystem }),
    enabled,
    policies: [...kinds, ['default', fallbackPolicyId] as const].map(([kind, id]) =>
      explainPolicy(resolved, kind, id),
    ),
    notes: [
      ...unknownNames(resolved, operation),
      ...hidden.map(hiddenNote),
      ...[...used].flatMap((id) => leftOut.get(id) ?? []),
      ...undeclared(resolved.config.overrides, methods).map(
        (place) => `overrides name ${place}, of which no decorated method is known yet`,
      ),
    ],
  }
}

/** Says that a change through the API hides a value of the file. */
export function hiddenNote({ policyId, field, value, below, where }: HiddenValue): string {
  const place = where === undefined ? '' : ` (${where})`
  const key = snakeKey(field)
  const written = (said: unknown) =>
    JSON.stringify((policyEntryCodec.encode({ [field]: said }) as Record<string, unknown>)[key])
  return `policies.${policyId}.${key}: the ${written(below)} of the config${place} is hidden by ${written(value)}, a change through the API`
}

function explainPolicy({ policies }: ResolvedConfig, kind: string, policyId: string): ExplainedPolicy {
  const found = policies.get(policyId)
  if (found === undefined)
    throw new HoldfastError('POLICY_NOT_FOUND', `there is no policy ${JSON.stringify(policyId)}`)
  const { policy, origins } = found
  const values: Record<string, ExplainedValue> = {}
  for (const [field, origin] of Object.entries(origins))
    values[field] = { value: policy[field as keyof typeof policy] ?? null, ...origin }
  const breaker = breakerIdOf(policy)
  return {
    kind,
    policyId,
    enabled: policy.enabled,
    values,
    schedule: scheduleOf(policy),
    ...(breaker !== undefined && { breaker }),
  }
}

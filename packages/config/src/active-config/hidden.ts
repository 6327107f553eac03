import { policyCodec, type RetryPolicy, snakeKey } from '@holdfast/records'
import { memberId } from '../members/members.js'
import type { ResolvedConfig } from '../resolve/resolve-config.js'
import { type PolicySource, type ResolvedPolicy, resolvePolicy } from '../resolve/resolve-policy.js'
import type { Layer } from '../schema/layer.js'
import type { Config } from '../schema/schema.js'

/** A value of the config that a change through the API hides. */
export interface HiddenValue {
  readonly policyId: string
  readonly field: string
  /** The active value, and the value of the config. */
  readonly value: unknown
  readonly below: unknown
  /** The location in the config, if it is known. */
  readonly where?: string
}

const isSameValue = (a: unknown, b: unknown): boolean =>
  a === b || (typeof a === 'object' && JSON.stringify(a) === JSON.stringify(b))

/** The values of the config that changes made through the API hide. */
export function hiddenValues({
  policies,
  layer,
  ...source
}: Pick<ResolvedConfig, 'policies' | 'config' | 'places' | 'layer'>): HiddenValue[] {
  const hidden: HiddenValue[] = []
  for (const policyId of Object.keys(layer.policies ?? {})) {
    const { policy, origins } = policies.get(policyId) ?? DELETED_POLICY
    const below = resolvePolicy(source, policyId)
    for (const [field, { origin }] of Object.entries(origins)) {
      if (origin !== 'api') continue
      const belowOrigin = below.origins[field]
      if (belowOrigin === undefined || belowOrigin.origin === 'built-in') continue
      const [value, under] = [fieldValue(policy, field), fieldValue(below.policy, field)]
      if (!isSameValue(value, under))
        hidden.push({
          policyId,
          field,
          value,
          below: under,
          ...(belowOrigin.where !== undefined && { where: belowOrigin.where }),
        })
    }
  }
  return hidden
}

const fieldValue = (policy: RetryPolicy, field: string): unknown => policy[field as keyof RetryPolicy] ?? null

/** A deleted policy has no fields, so it hides no single values. */
const DELETED_POLICY = { policy: {} as RetryPolicy, origins: {} } satisfies ResolvedPolicy

/** The values that a reload changed without effect, because changes made through the API hide them. */
export function hiddenByReload(
  before: PolicySource,
  after: Pick<ResolvedConfig, 'policies' | 'config' | 'places' | 'layer'>,
): HiddenValue[] {
  return hiddenValues(after).filter(({ policyId, field, below }) => {
    const old: ResolvedPolicy = resolvePolicy(before, policyId)
    return !isSameValue(fieldValue(old.policy, field), below)
  })
}

/** A policy field before and after a change. */
export interface Difference {
  readonly policyId: string
  readonly field: string
  readonly before: unknown
  readonly after: unknown
}

/** The differences between the policies of two configs, or of one config with two layers. */
export function diffPolicies(
  before: ReadonlyMap<string, ResolvedPolicy>,
  after: ReadonlyMap<string, ResolvedPolicy>,
): Difference[] {
  const found: Difference[] = []
  for (const policyId of new Set([...before.keys(), ...after.keys()])) {
    const [old, now] = [before.get(policyId)?.policy, after.get(policyId)?.policy]
    for (const field of new Set([...Object.keys(old ?? {}), ...Object.keys(now ?? {})])) {
      const [a, b] = [old && fieldValue(old, field), now && fieldValue(now, field)]
      if (!isSameValue(a, b)) found.push({ policyId, field, before: a, after: b })
    }
  }
  return found
}

/** The wire form of a difference, for records. */
export function toWireDifference({ policyId, field, before, after }: Difference): object {
  const name = snakeKey(field)
  const wire = (value: unknown): unknown =>
    (policyCodec.encode({ [field]: value } as unknown as RetryPolicy) as Record<string, unknown>)[name] ??
    null
  return { policy_id: policyId, field: name, before: wire(before), after: wire(after) }
}

/** Notes about members that a reload changed without effect, because changes made through the API hide them. */
export function hiddenMembers(before: Config, after: Config, { pools = {} }: Layer): string[] {
  const notes: string[] = []
  for (const [pool, { members = {} }] of Object.entries(pools))
    for (const [id, change] of Object.entries(members)) {
      const [previous, current] = [before, after].map((config) =>
        config.pools?.[pool]?.members?.find((entry) => memberId(entry) === id),
      )
      if (current === undefined || isSameValue(previous, current)) continue
      const place = `pools.${pool}.members: ${JSON.stringify(id)}`
      if (change === null || change.url !== undefined) {
        const how = change === null ? 'was removed' : 'was replaced'
        notes.push(`${place} was changed in the config, and ${how} through the API`)
        continue
      }
      for (const field of Object.keys(change) as (keyof typeof current)[])
        if (
          field in current &&
          !isSameValue(previous?.[field], current[field]) &&
          !isSameValue(current[field], change[field as 'weight'])
        )
          notes.push(
            `${place}: the ${field} ${JSON.stringify(current[field])} of the config is hidden by ${JSON.stringify(change[field as 'weight'])}, a change through the API`,
          )
    }
  return notes
}

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
  /** What holds, and what the config says. */
  readonly value: unknown
  readonly below: unknown
  /** Where the config says it, where that is known. */
  readonly where?: string
}

const isSameValue = (a: unknown, b: unknown): boolean =>
  a === b || (typeof a === 'object' && JSON.stringify(a) === JSON.stringify(b))

/** The values that somebody wrote in the config, and that the layer of the API's changes hides. */
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

/** A policy that the layer deleted hides nothing of its own. */
const DELETED_POLICY = { policy: {} as RetryPolicy, origins: {} } satisfies ResolvedPolicy

/** The values that a reload changed, and that change nothing because the layer hides them. */
export function hiddenByReload(
  before: PolicySource,
  after: Pick<ResolvedConfig, 'policies' | 'config' | 'places' | 'layer'>,
): HiddenValue[] {
  return hiddenValues(after).filter(({ policyId, field, below }) => {
    const old: ResolvedPolicy = resolvePolicy(before, policyId)
    return !isSameValue(fieldValue(old.policy, field), below)
  })
}

/** One field of a policy before and after. */
export interface Difference {
  readonly policyId: string
  readonly field: string
  readonly before: unknown
  readonly after: unknown
}

/** What differs between the policies of two configs, or of one under two layers. */
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

/** A difference in the wire's spelling, as records keep it. */
export function toWireDifference({ policyId, field, before, after }: Difference): object {
  const name = snakeKey(field)
  const wire = (value: unknown): unknown =>
    (policyCodec.encode({ [field]: value } as unknown as RetryPolicy) as Record<string, unknown>)[name] ??
    null
  return { policy_id: policyId, field: name, before: wire(before), after: wire(after) }
}

/** What a reload changed of members whose changes through the API hide it, a sentence each. */
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

import { DEFAULT_POLICY_ID } from '../schema/built-in-policies.js'
import type { Config } from '../schema/schema.js'
import type { ResolvedPolicy } from './resolve-policy.js'

/** Names and codes of errors by the kind of failure that they mean. */
interface ErrorKinds {
  readonly [kind: string]: readonly string[]
}

/** How the failures of an operation are answered. */
export interface OperationPlan {
  readonly operation: string
  /** The subsystem it belongs to, where one is mapped or set up. */
  readonly subsystem?: string
  /** The policy for each kind of failure that is mapped. */
  readonly policyByKind: ReadonlyMap<string, string>
  /** The policy for every other kind. */
  readonly fallbackPolicyId: string
  /** False where the subsystem, or the only policy there is, lets calls straight through. */
  readonly isEnabled: boolean
  /** Kinds of failure that the config adds, those of the subsystem over those of all. */
  readonly errorKinds: ErrorKinds
}

/** What operations are looked up in. */
export interface OperationTable {
  readonly config: Config
  readonly policies: ReadonlyMap<string, ResolvedPolicy>
  /** Plans that were made, by operation. */
  readonly plans: Map<string, OperationPlan>
}

/** So many plans are kept; names of operations come from outside and may be any number. */
const MAX_CACHED_PLANS = 10_000

/**
 * How an operation is guarded: `subsystem.operation` by the kind of the failure, `subsystem.operation.kind` by that
 * mapping alone, a name without a dot by the policy of that id.
 */
export function resolveOperation(table: OperationTable, operation: string): OperationPlan {
  let plan = table.plans.get(operation)
  if (plan === undefined) {
    plan = createPlan(table, operation)
    if (table.plans.size >= MAX_CACHED_PLANS) table.plans.clear()
    table.plans.set(operation, plan)
  }
  return plan
}

const ownValue = <T>(object: { readonly [key: string]: T } | undefined, key: string): T | undefined =>
  object !== undefined && Object.hasOwn(object, key) ? object[key] : undefined

function createPlan({ config, policies }: OperationTable, operation: string): OperationPlan {
  /** A mapping may name a policy that is not there, or may not be: the default policy stands in for it. */
  const idOf = (named: string): string => {
    const id = named.replace(/^\?/, '')
    return policies.has(id) ? id : DEFAULT_POLICY_ID
  }
  const [first = '', second, ...rest] = operation.split('.')
  const isSingleName = second === undefined
  const subsystem = isSingleName ? undefined : first
  const settings = subsystem === undefined ? undefined : ownValue(config.subsystems, subsystem)
  const mapping = isSingleName ? undefined : ownValue(ownValue(config.subsystemMappings, first), second)
  const operationName = rest.length > 0 ? rest.join('.') : undefined

  const policyByKind = new Map<string, string>()
  let fallbackPolicyId = DEFAULT_POLICY_ID
  if (isSingleName) {
    if (policies.has(operation)) fallbackPolicyId = operation
  } else if (mapping !== undefined) {
    const standard = ownValue(mapping, 'default')
    if (standard !== undefined) fallbackPolicyId = idOf(standard)
    if (operationName === undefined) {
      for (const [kind, id] of Object.entries(mapping))
        if (kind !== 'default') policyByKind.set(kind, idOf(id))
    } else {
      const picked = ownValue(mapping, operationName)
      if (picked !== undefined) fallbackPolicyId = idOf(picked)
    }
  }
  const ids = [...policyByKind.values(), fallbackPolicyId]
  const isEnabled =
    settings?.enabled !== false && ids.some((id) => policies.get(id)?.policy.enabled !== false)
  return Object.freeze({
    operation,
    ...(subsystem !== undefined && { subsystem }),
    policyByKind,
    fallbackPolicyId,
    isEnabled,
    errorKinds: { ...config.errorKinds, ...settings?.errorKinds },
  })
}

/** The policy that answers a failure of a kind. */
export const policyIdFor = (plan: OperationPlan, kind: string): string =>
  plan.policyByKind.get(kind) ?? plan.fallbackPolicyId

import { DEFAULT_POLICY_ID } from '@holdfast/records/constants'
import type { Config } from '../schema/schema.js'
import type { ResolvedPolicy } from './resolve-policy.js'

/** Error names and codes by kind of failure. */
interface ErrorKinds {
  readonly [kind: string]: readonly string[]
}

/** The policies of an operation. */
export interface OperationPlan {
  readonly operation: string
  /** The subsystem of the operation, if it is mapped or configured. */
  readonly subsystem?: string
  /** The policy for each mapped kind of failure. */
  readonly policyByKind: ReadonlyMap<string, string>
  /** The policy for every other kind. */
  readonly fallbackPolicyId: string
  /** False where the subsystem, or its only policy, is disabled. */
  readonly isEnabled: boolean
  /** User-defined kinds of failure. Those of the subsystem take precedence over the global ones. */
  readonly errorKinds: ErrorKinds
}

/** The data from which operations are resolved. */
export interface OperationTable {
  /** The content of the config file. */
  readonly config: Config
  /** All policies with the origin of each value. */
  readonly policies: ReadonlyMap<string, ResolvedPolicy>
  /** The cache of plans by operation. */
  readonly plans: Map<string, OperationPlan>
}

/** The maximum number of cached plans, because operation names come from outside. */
const MAX_CACHED_PLANS = 10_000

/**
 * Resolves the policies of an operation: `subsystem.operation` by the kind of failure, `subsystem.operation.kind` by this
 * one mapping, a name without a dot by the policy of that id.
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
  /** A mapping may name a policy that does not exist; then the default policy applies. */
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

/** The policy for a kind of failure. */
export const policyIdFor = (plan: OperationPlan, kind: string): string =>
  plan.policyByKind.get(kind) ?? plan.fallbackPolicyId

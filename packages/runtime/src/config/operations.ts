import { DEFAULT_POLICY } from './ready.js'
import type { ResolvedPolicy } from './resolve.js'
import type { Config } from './schema/schema.js'

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
  readonly kinds: ReadonlyMap<string, string>
  /** The policy for every other kind. */
  readonly fallbackPolicyId: string
  /** False where the subsystem, or the only policy there is, lets calls straight through. */
  readonly enabled: boolean
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
const KEPT = 10_000

/**
 * How an operation is guarded: `subsystem.operation` by the kind of the failure, `subsystem.operation.kind` by that
 * mapping alone, a name without a dot by the policy of that id.
 */
export function resolveOperation(table: OperationTable, operation: string): OperationPlan {
  let plan = table.plans.get(operation)
  if (plan === undefined) {
    plan = makePlan(table, operation)
    if (table.plans.size >= KEPT) table.plans.clear()
    table.plans.set(operation, plan)
  }
  return plan
}

const own = <T>(holder: { readonly [key: string]: T } | undefined, key: string): T | undefined =>
  holder !== undefined && Object.hasOwn(holder, key) ? holder[key] : undefined

function makePlan({ config, policies }: OperationTable, operation: string): OperationPlan {
  /** A mapping may name a policy that is not there, or may not be: the default policy stands in for it. */
  const idOf = (named: string): string => {
    const id = named.replace(/^\?/, '')
    return policies.has(id) ? id : DEFAULT_POLICY
  }
  const [first = '', second, ...rest] = operation.split('.')
  const plain = second === undefined
  const subsystem = plain ? undefined : first
  const settings = subsystem === undefined ? undefined : own(config.subsystems, subsystem)
  const mapping = plain ? undefined : own(own(config.subsystemMappings, first), second)
  const asked = rest.length > 0 ? rest.join('.') : undefined

  const kinds = new Map<string, string>()
  let fallbackPolicyId = DEFAULT_POLICY
  if (plain) {
    if (policies.has(operation)) fallbackPolicyId = operation
  } else if (mapping !== undefined) {
    const standard = own(mapping, 'default')
    if (standard !== undefined) fallbackPolicyId = idOf(standard)
    if (asked === undefined) {
      for (const [kind, id] of Object.entries(mapping)) if (kind !== 'default') kinds.set(kind, idOf(id))
    } else {
      const picked = own(mapping, asked)
      if (picked !== undefined) fallbackPolicyId = idOf(picked)
    }
  }
  const ids = [...kinds.values(), fallbackPolicyId]
  const enabled = settings?.enabled !== false && ids.some((id) => policies.get(id)?.policy.enabled !== false)
  return Object.freeze({
    operation,
    ...(subsystem !== undefined && { subsystem }),
    kinds,
    fallbackPolicyId,
    enabled,
    errorKinds: { ...config.errorKinds, ...settings?.errorKinds },
  })
}

/** The policy that answers a failure of a kind. */
export const policyIdFor = (plan: OperationPlan, kind: string): string =>
  plan.kinds.get(kind) ?? plan.fallbackPolicyId

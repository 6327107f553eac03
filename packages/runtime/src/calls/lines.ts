import { type Clock, HoldfastError, type Pool, type Random } from 'holdfast'
import { GuardExecutor, parseGuardOptions } from 'holdfast/internal'
import type { BreakerRegistry } from '../breakers/registry.js'
import type { CallOptions } from '../face.js'
import { checkOperation } from '../given.js'
import type { PolicyFields, RetryPolicy } from '../records/policy.js'
import { refineByKinds } from './error-kinds.js'
import { policyGate, serviceGate } from './gates.js'
import type { Limits } from './limits.js'
import type { Line, LineRules, Tally } from './line.js'
import { deadlineOf, enginePolicy, policyOver } from './policy.js'
import { baseId, type CallPolicy, type OperationRules, type Ruling } from './ruling.js'

/** The breakers and limits that policies share over all their calls, whatever becomes of the configuration. */
interface Shared {
  breakers: BreakerRegistry
  limits: Limits
}

export interface LineParts {
  clock: Clock
  random: Random
  shared: Shared
  /** Those of policies that only look on. */
  shadows: Shared
  pool(id: string): Pool
  tally(operation: string, policyId: string, subsystem: string | undefined): Tally
}

/** More operations than this are somebody's ids in the name: they are made anew instead of kept. */
const MOST_LINES = 10_000

/** Policies that calls bring along are few, or each is another: then keeping them is of no use. */
const MOST_OWNED = 1000

/** What JSON would leave out or write alike is told apart, so that what is wrong is not taken for what is right. */
function distinct(_: string, value: unknown): unknown {
  const alike =
    typeof value === 'function' ||
    typeof value === 'symbol' ||
    typeof value === 'bigint' ||
    (typeof value === 'number' && !Number.isFinite(value))
  return alike ? `\0${typeof value} ${String(value)}` : value
}

/** What a value says, in one text; undefined where it cannot be read. */
function contentOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, distinct)
  } catch {
    return undefined
  }
}

/**
 * A policy, and the one that has what it shares with other calls: where a call brings a policy along, that of the
 * configuration under it, because one call changes nothing for others.
 */
interface Owned {
  readonly record: RetryPolicy
  readonly owner: RetryPolicy
  readonly bulkheadPlace: string
  readonly isRetryDisabled: boolean
}

const alone = ({ policy, bulkheadPlace, isRetryDisabled }: CallPolicy): Owned => ({
  record: policy,
  owner: policy,
  bulkheadPlace,
  isRetryDisabled,
})

/** The policies that the calls of an operation go by, each with the overrides that concern them. */
class OperationPolicies {
  private readonly ruling: Ruling
  private readonly policyOf: (id: string) => CallPolicy | undefined
  private readonly known = new Map<string, CallPolicy>()

  constructor(ruling: Ruling, operation: string) {
    this.ruling = ruling
    this.policyOf = ruling.policiesOf(operation)
  }

  /** @throws POLICY_NOT_FOUND */
  get(id: string): CallPolicy {
    const found = this.known.get(id) ?? this.policyOf(id)
    if (found === undefined) {
      const known = [...this.ruling.policies.keys()].slice(0, 20).join(', ')
      throw new HoldfastError('POLICY_NOT_FOUND', `there is no policy ${id}; there are ${known}`)
    }
    this.known.set(id, found)
    return found
  }
}

/** Makes the lines of one configuration, each when it is first asked for. */
export class Lines {
  private readonly ruling: Ruling
  private readonly parts: LineParts
  private readonly plain = new Map<string, Line>()
  private readonly special = new Map<string, Line>()
  private readonly owned = new Map<string, Line>()

  constructor(ruling: Ruling, parts: LineParts) {
    this.ruling = ruling
    this.parts = parts
  }

  get(operation: string, options: CallOptions | undefined): Line {
    if (options === undefined)
      return this.plain.get(operation) ?? this.keep(this.plain, operation, operation, {})
    const { service, pool, policy } = options
    if (service === undefined && pool === undefined && policy === undefined)
      return this.plain.get(operation) ?? this.keep(this.plain, operation, operation, {})
    if (typeof policy === 'object') return this.ownLine(operation, options, policy)
    const key = JSON.stringify([operation, service, pool, policy])
    return this.special.get(key) ?? this.keep(this.special, key, operation, options)
  }

  /**
   * Makes the breakers that this configuration names, so that they can be listed and reset before their first call, and
   * forgets all others.
   */
  prepare(): void {
    const { ruling, parts } = this
    const { breakers } = parts.shared
    const ids = new Set<string>()
    for (const name of ruling.breakers.keys()) ids.add(serviceGate(ruling, breakers, name).id)
    const policyOf = ruling.policiesOf('')
    for (const id of ruling.policies.keys()) {
      const record = policyOf(id)?.policy
      if (record === undefined) continue
      const gate = policyGate(ruling, breakers, record, record)
      if (gate !== undefined) ids.add(gate.id)
    }
    breakers.keepOnly(ids)
    parts.shadows.breakers.keepOnly(ids)
  }

  /** The line of a policy that a call brings along, by what that says: its owner may change it from call to call. */
  private ownLine(operation: string, options: CallOptions, policy: object): Line {
    const { owned } = this
    const key = contentOf([operation, options.service, options.pool, policy])
    if (key === undefined) return this.make(operation, options)
    const known = owned.get(key)
    if (known !== undefined) return known
    if (owned.size >= MOST_OWNED) owned.clear()
    return this.keep(owned, key, operation, options)
  }

  private keep(map: Map<string, Line>, key: string, operation: string, options: CallOptions): Line {
    const line = this.make(operation, options)
    if (map.size < MOST_LINES) map.set(key, line)
    return line
  }

  private make(operation: string, options: CallOptions): Line {
    checkOperation(operation)
    const { ruling, parts } = this
    const { clock, random } = parts
    const rules = ruling.operation(operation)
    const policies = new OperationPolicies(ruling, operation)
    const given = this.givenPolicy(policies, operation, options, rules)
    const kinds = given === undefined ? rules.kinds : new Map<string, string>()
    if (options.service !== undefined) serviceGate(ruling, parts.shared.breakers, options.service)
    const made = new Map<RetryPolicy, LineRules>()
    const rulesOf = (owned: Owned) => {
      const known = made.get(owned.record) ?? this.rules(owned, options.service)
      made.set(owned.record, known)
      return known
    }
    const first = given ?? alone(policies.get(baseId(rules)))
    const { record, owner, bulkheadPlace } = first
    const base = rulesOf(first)
    const byKind = new Map<string, LineRules>()
    for (const [kind, id] of kinds) byKind.set(kind, rulesOf(alone(policies.get(id))))
    // A kind that is not mapped goes by the fallback, which need not be what the first attempt goes by.
    const rest = given === undefined ? rulesOf(alone(policies.get(rules.fallbackPolicyId))) : base
    const enabled = given === undefined ? rules.enabled : rules.switchedOn && record.enabled
    const all = [...made.values()]
    const gates = new Set(all.map(({ gate }) => gate).filter((gate) => gate !== undefined))
    const shadows = all.filter(({ shadow }) => shadow !== undefined)
    const looksOn = record.shadow
    const { limits } = parts.shared
    const settings = parseGuardOptions({
      name: operation,
      timeout: { attempt: base.attemptTimeout, total: base.totalTimeout },
      clock,
      random,
      enabled,
      ...(options.pool !== undefined && { pool: parts.pool(options.pool) }),
      ...(record.hedge && !looksOn && { hedge: record.hedge }),
    })
    const core = new GuardExecutor(
      {
        ...settings,
        retry: base.policy,
        bulkhead: looksOn ? undefined : limits.bulkhead(record, owner, bulkheadPlace),
        budget: looksOn ? undefined : limits.budget(record, owner),
      },
      { refine: refineByKinds(rules.errorKinds), hasOtherBreakers: gates.size + shadows.length > 0 },
    )
    return {
      operation,
      subsystem: rules.subsystem,
      enabled,
      plain: core.useFastPath && gates.size + shadows.length === 0,
      core,
      rules: byKind,
      base,
      rest,
      gates: [...gates],
      shadows,
      tally: parts.tally(operation, record.id, rules.subsystem),
    }
  }

  private givenPolicy(
    policies: OperationPolicies,
    operation: string,
    options: CallOptions,
    rules: OperationRules,
  ): Owned | undefined {
    const { policy, pool } = options
    if (typeof policy === 'string') return alone(policies.get(policy))
    if (policy !== undefined) return this.custom(policies, operation, policy, rules)
    const ofPool = pool === undefined || rules.mapped ? undefined : this.ruling.poolPolicy(pool)
    return ofPool === undefined ? undefined : alone(policies.get(ofPool))
  }

  /**
   * A policy that a call brings along: over the one of its id, else over the operation's, else over the default one. One
   * without an id is called what its operation is.
   */
  private custom(
    policies: OperationPolicies,
    operation: string,
    policy: PolicyFields,
    rules: OperationRules,
  ): Owned {
    const id = policy.id
    const isKnown = id !== undefined && this.ruling.policies.has(id)
    const under = policies.get(isKnown ? id : id === undefined ? baseId(rules) : 'default')
    const { bulkheadPlace, isRetryDisabled } = under
    const own = policyOver(under.policy, id === undefined ? { id: operation, ...policy } : policy)
    const record = isRetryDisabled ? { ...own, maxAttempts: 1 } : own
    const owner = isKnown || id === undefined ? under.policy : record
    return { record, owner, bulkheadPlace, isRetryDisabled }
  }

  /** A policy as calls go by it: one that is off or only looks on makes one attempt and has no deadline. */
  private rules(
    { record, owner, bulkheadPlace, isRetryDisabled }: Owned,
    service: string | undefined,
  ): LineRules {
    const policy = enginePolicy(record)
    const attemptTimeout = deadlineOf(record.attemptTimeout)
    const totalTimeout = deadlineOf(record.totalTimeout)
    const { ruling } = this
    const { shared, shadows } = this.parts
    const gateIn = ({ breakers }: Shared) =>
      service === undefined
        ? policyGate(ruling, breakers, record, owner)
        : serviceGate(ruling, breakers, service)
    if (record.enabled && !record.shadow)
      return { record, policy, attemptTimeout, totalTimeout, gate: gateIn(shared), isRetryDisabled }
    const once: LineRules = {
      record,
      policy: { ...policy, maxAttempts: 1 },
      attemptTimeout: Number.POSITIVE_INFINITY,
      totalTimeout: Number.POSITIVE_INFINITY,
      gate: undefined,
      isRetryDisabled,
    }
    if (!record.enabled) return once
    const gate = gateIn(shadows)
    const bulkhead = shadows.limits.bulkhead(record, owner, bulkheadPlace)
    const budget = shadows.limits.budget(record, owner)
    return { ...once, shadow: { policy, attemptTimeout, totalTimeout, gate, bulkhead, budget } }
  }
}

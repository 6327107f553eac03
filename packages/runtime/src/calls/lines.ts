import {
  type BreakerOptions,
  type CircuitBreaker,
  type Classification,
  type Clock,
  HoldfastError,
  type Pool,
  type Random,
  RetryBudget,
  type RetryBudgetOptions,
} from 'holdfast'
import { Bulkhead, compileMatchers, GuardCore, type GuardSettings, readGuard, report } from 'holdfast/engine'
import type { BreakerRegistry } from '../breakers/registry.js'
import type { CallOptions } from '../face.js'
import type { RetryPolicy } from '../records/policy.js'
import type { Line, LineRules, Tally } from './line.js'
import { deadlineOf, enginePolicy, policyOver } from './policy.js'

/** What a configuration says of one operation. */
export interface OperationRules {
  readonly subsystem?: string | undefined
  /** The policy by the kind of a failure. */
  readonly kinds: ReadonlyMap<string, string>
  /** The policy of every other kind. */
  readonly fallbackPolicyId: string
  readonly enabled: boolean
  /** Whether its subsystem is switched on, whatever the policies say. */
  readonly switchedOn: boolean
  /** Kinds of the user's own, each with what belongs to it. */
  readonly errorKinds: Readonly<Record<string, readonly string[]>>
  /** Whether the configuration says anything of the operation. */
  readonly mapped: boolean
}

/** A breaker shared by name. */
interface NamedBreaker {
  readonly options: BreakerOptions
  readonly persist: boolean
}

/** One configuration, as far as calls are concerned. */
export interface Ruling {
  readonly policies: ReadonlyMap<string, RetryPolicy>
  operation(name: string): OperationRules
  readonly breakers: ReadonlyMap<string, NamedBreaker>
  /** The policy of calls through a pool that nothing else decides. */
  poolPolicy(pool: string): string | undefined
}

type BudgetOptions = RetryBudgetOptions & { window: number }

export interface LineParts {
  clock: Clock
  random: Random
  breakers: BreakerRegistry
  pool(id: string): Pool
  /** A budget that the whole fleet draws on; undefined where there is no fleet. */
  sharedBudget(id: string, options: BudgetOptions): RetryBudget | undefined
  tally(operation: string, policyId: string, subsystem: string | undefined): Tally
}

/** More operations than this are somebody's ids in the name: they are made anew instead of kept. */
const MOST_LINES = 10_000

/** Sorts errors into the kinds of the user's own before all others. */
export class LineCore extends GuardCore {
  private readonly kinds: readonly (readonly [string, (error: unknown, known: Classification) => boolean])[]

  constructor(settings: GuardSettings, kinds: Readonly<Record<string, readonly string[]>>, gated: boolean) {
    super(settings)
    this.timeless &&= !gated
    this.kinds = Object.entries(kinds).map(
      ([kind, names]) =>
        [
          kind,
          compileMatchers(names, (error, predicate) => report(`error kind ${kind}`, predicate, error)),
        ] as const,
    )
  }

  override classify(result: unknown, threw: boolean): Classification {
    const known = super.classify(result, threw)
    const own = threw ? this.kinds.find(([, match]) => match(result, known)) : undefined
    return own === undefined ? known : { ...known, kind: own[0] as Classification['kind'] }
  }
}

/** Makes the lines of one configuration, each when it is first asked for. */
export class Lines {
  private readonly ruling: Ruling
  private readonly parts: LineParts
  private readonly plain = new Map<string, Line>()
  private readonly special = new Map<string, Line>()
  private readonly owned = new WeakMap<object, Map<string, Line>>()
  private readonly bulkheads: Map<string, { key: string; bulkhead: Bulkhead }>
  private readonly budgets: Map<string, { key: string; budget: RetryBudget }>

  /** What `previous` counted goes on counting where its options are the same. */
  constructor(ruling: Ruling, parts: LineParts, previous?: Lines) {
    this.ruling = ruling
    this.parts = parts
    this.bulkheads = previous?.bulkheads ?? new Map()
    this.budgets = previous?.budgets ?? new Map()
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

  /** The breakers that this configuration names, made so that they can be listed and reset before their first call. */
  prepare(): Set<string> {
    const { policies, breakers } = this.ruling
    const ids = new Set<string>()
    for (const name of breakers.keys()) ids.add(this.service(name).id)
    for (const record of policies.values()) {
      const gate = this.policyGate(record)
      if (gate !== undefined) ids.add(gate.id)
    }
    return ids
  }

  /** The line of a policy that a call brings along, kept as long as that object is. */
  private ownLine(operation: string, options: CallOptions, policy: object): Line {
    const lines = this.owned.get(policy) ?? new Map<string, Line>()
    this.owned.set(policy, lines)
    const key = JSON.stringify([operation, options.service, options.pool])
    return lines.get(key) ?? this.keep(lines, key, operation, options)
  }

  /** How much retrying is left of each policy's budget. */
  *budgetsLeft(): Iterable<readonly [policyId: string, left: number]> {
    for (const [id, { budget }] of this.budgets) yield [id, budget.left]
  }

  private keep(map: Map<string, Line>, key: string, operation: string, options: CallOptions): Line {
    const line = this.make(operation, options)
    if (map.size < MOST_LINES) map.set(key, line)
    return line
  }

  private make(operation: string, options: CallOptions): Line {
    if (typeof operation !== 'string' || operation === '')
      throw new HoldfastError('INVALID_OPTIONS', 'operation: got nothing, takes a name such as browser.save')
    const { ruling, parts } = this
    const { clock, random } = parts
    const rules = ruling.operation(operation)
    const given = this.givenPolicy(options, rules)
    const kinds = given === undefined ? rules.kinds : new Map<string, string>()
    const service = options.service === undefined ? undefined : this.service(options.service)
    const made = new Map<RetryPolicy, LineRules>()
    const rulesOf = (record: RetryPolicy) => {
      const known = made.get(record) ?? this.rules(record, service)
      made.set(record, known)
      return known
    }
    const base = rulesOf(given ?? this.record(baseId(rules)))
    const byKind = new Map<string, LineRules>()
    for (const [kind, id] of kinds) byKind.set(kind, rulesOf(this.record(id)))
    // A kind that is not mapped goes by the fallback, which need not be what the first attempt goes by.
    const rest = given === undefined ? rulesOf(this.record(rules.fallbackPolicyId)) : base
    const enabled = given === undefined ? rules.enabled : rules.switchedOn && given.enabled
    const gates = new Set([...made.values()].map(({ gate }) => gate).filter((gate) => gate !== undefined))
    const { record } = base
    const looksOn = record.shadow
    const settings = readGuard({
      name: operation,
      timeout: { attempt: base.attemptTimeout, total: base.totalTimeout },
      clock,
      random,
      enabled,
      ...(options.pool !== undefined && { pool: parts.pool(options.pool) }),
      ...(record.hedge && !looksOn && { hedge: record.hedge }),
    })
    const core = new LineCore(
      {
        ...settings,
        retry: base.policy,
        bulkhead: looksOn ? undefined : this.bulkhead(ruling.policies.get(record.id) ?? record),
        budget: looksOn ? undefined : this.budget(ruling.policies.get(record.id) ?? record),
      },
      rules.errorKinds,
      gates.size > 0,
    )
    return {
      operation,
      subsystem: rules.subsystem,
      enabled,
      plain: core.timeless && !core.settings.bulkhead && !core.settings.budget,
      core,
      rules: byKind,
      base,
      rest,
      gates: [...gates],
      tally: parts.tally(operation, record.id, rules.subsystem),
    }
  }

  private givenPolicy(options: CallOptions, rules: OperationRules): RetryPolicy | undefined {
    const { policy, pool } = options
    if (typeof policy === 'string') return this.record(policy)
    if (policy !== undefined) return this.custom(policy, rules)
    const ofPool = pool === undefined || rules.mapped ? undefined : this.ruling.poolPolicy(pool)
    return ofPool === undefined ? undefined : this.record(ofPool)
  }

  /** A policy that a call brings along: over the one of its id, else over the operation's, else over the default one. */
  private custom(policy: Partial<RetryPolicy>, rules: OperationRules): RetryPolicy {
    const { policies } = this.ruling
    const over = this.record(
      policy.id === undefined ? baseId(rules) : policies.has(policy.id) ? policy.id : 'default',
    )
    return policyOver(over, policy)
  }

  private record(id: string): RetryPolicy {
    const record = this.ruling.policies.get(id)
    if (record === undefined) {
      const known = [...this.ruling.policies.keys()].slice(0, 20).join(', ')
      throw new HoldfastError('POLICY_NOT_FOUND', `there is no policy ${id}; there are ${known}`)
    }
    return record
  }

  /** A policy as calls go by it: one that is off or only looks on makes one attempt and has no deadline. */
  private rules(record: RetryPolicy, service: CircuitBreaker | undefined): LineRules {
    const policy = enginePolicy(record)
    // A policy that a call brings along has the breaker of its id as that stands: one call changes nothing for others.
    const owner = this.ruling.policies.get(record.id) ?? record
    if (!record.enabled || record.shadow)
      return {
        record,
        policy: { ...policy, maxAttempts: 1 },
        attemptTimeout: Number.POSITIVE_INFINITY,
        totalTimeout: Number.POSITIVE_INFINITY,
        gate: undefined,
        shadowed: record.shadow ? policy : undefined,
      }
    return {
      record,
      policy,
      attemptTimeout: deadlineOf(record.attemptTimeout),
      totalTimeout: deadlineOf(record.totalTimeout),
      gate: service ?? this.policyGate(owner),
    }
  }

  private service(name: string): CircuitBreaker {
    const named = this.ruling.breakers.get(name)
    if (named === undefined) {
      const known = [...this.ruling.breakers.keys()].join(', ') || 'none'
      throw new HoldfastError(
        'INVALID_OPTIONS',
        `service: there is no circuit breaker ${name} under circuit_breakers; there are: ${known}`,
      )
    }
    return this.parts.breakers.ensure({ serviceName: name }, named.options, named.persist)
  }

  private policyGate(record: RetryPolicy): CircuitBreaker | undefined {
    if (record.circuitBreaker) return this.service(record.circuitBreaker)
    if (!record.enableCircuitBreaker) return undefined
    return this.parts.breakers.ensure(
      { policyId: record.id },
      {
        windowType: 'consecutive',
        failureThreshold: record.circuitBreakerThreshold,
        timeoutDuration: record.circuitBreakerTimeout,
        successThreshold: 1,
      },
      false,
    )
  }

  private bulkhead({ id, bulkhead }: RetryPolicy): Bulkhead | undefined {
    if (!bulkhead) return undefined
    const key = JSON.stringify(bulkhead)
    const known = this.bulkheads.get(id)
    if (known?.key === key) return known.bulkhead
    const made = new Bulkhead(bulkhead.limit, bulkhead.queue ?? 0)
    this.bulkheads.set(id, { key, bulkhead: made })
    return made
  }

  private budget({ id, budget }: RetryPolicy): RetryBudget | undefined {
    if (!budget) return undefined
    const key = JSON.stringify(budget)
    const known = this.budgets.get(id)
    if (known?.key === key) return known.budget
    const { ratio, reservePerSecond, window, shared } = budget
    const { clock, sharedBudget } = this.parts
    const options = { ratio, reservePerSecond, window }
    const made = (shared && sharedBudget(id, options)) || new RetryBudget({ ...options, clock })
    this.budgets.set(id, { key, budget: made })
    return made
  }
}

/**
 * The policy of the first attempt, which has no failure to go by: the operation's `default`; else, where all its kinds
 * share one policy, that; else the default policy.
 */
function baseId({ kinds, fallbackPolicyId }: OperationRules): string {
  const ids = new Set(kinds.values())
  const [only] = ids
  return ids.size === 1 && only !== undefined && !kinds.has('default') && fallbackPolicyId === 'default'
    ? only
    : fallbackPolicyId
}

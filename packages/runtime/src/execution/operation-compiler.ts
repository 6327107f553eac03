import {
  type CallConfiguration,
  type CallPolicy,
  initialPolicyId,
  type OperationConfig,
} from '@holdfast/config'
import type { PolicyFields, RetryPolicy } from '@holdfast/records'
import { type Clock, HoldfastError, type Pool, type Random } from 'holdfast'
import { GuardExecutor, parseGuardOptions } from 'holdfast/internal'
import type { CallOptions } from '../api-types.js'
import type { BreakerRegistry } from '../breakers/registry.js'
import { checkOperation } from '../call-options.js'
import type { OperationMetrics } from '../observation/observed-call.js'
import { breakerForPolicy, breakerForService } from './breakers.js'
import type { CompiledOperation, CompiledPolicy } from './compiled-operation.js'
import { refineByKinds } from './error-kinds.js'
import { mergePolicy, toCorePolicy, toDeadline } from './policy.js'
import type { PolicyLimits } from './policy-limits.js'

/** The breakers and limits that all calls of a policy share. They are kept over reloads. */
interface SharedResources {
  breakers: BreakerRegistry
  limits: PolicyLimits
}

export interface CompilerParts {
  clock: Clock
  random: Random
  shared: SharedResources
  /** The resources of policies in shadow mode. */
  shadowShared: SharedResources
  poolById(id: string): Pool
  metricsFor(counted: {
    operation: string
    policyId: string
    subsystem?: string | undefined
    /** The ids of the breakers that calls must pass; `pool:POOL` for those of a pool's members. */
    breakers?: readonly string[]
  }): OperationMetrics
}

/**
 * Compiled operations are cached up to this number. More operations mean that names contain ids, which would fill the
 * memory.
 */
const MAX_OPERATIONS = 10_000

/** Policies of calls are cached up to this number. More of them mean that each call has a different one. */
const MAX_CUSTOM_POLICIES = 1000

/**
 * Keeps values apart that JSON omits or writes alike, so that a wrong policy does not get the cached result of a valid one.
 */
function jsonReplacer(_: string, value: unknown): unknown {
  const isLossy =
    typeof value === 'function' ||
    typeof value === 'symbol' ||
    typeof value === 'bigint' ||
    (typeof value === 'number' && !Number.isFinite(value))
  return isLossy ? `\0${typeof value} ${String(value)}` : value
}

/** A key for the content of a value; undefined where the value cannot be serialized. */
function contentKey(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, jsonReplacer)
  } catch {
    return undefined
  }
}

/**
 * A policy and its `owner`, the policy whose breaker and limits it uses. The policy of one call uses those of the
 * configured policy below it, because a call must not change anything for other calls.
 */
interface OwnedPolicy {
  readonly record: RetryPolicy
  readonly owner: RetryPolicy
  readonly bulkheadPlace: string
  readonly isRetryDisabled: boolean
}

const ownPolicy = ({ policy, bulkheadPlace, isRetryDisabled }: CallPolicy): OwnedPolicy => ({
  record: policy,
  owner: policy,
  bulkheadPlace,
  isRetryDisabled,
})

/** The policies of an operation, each with the overrides that apply to it. */
class OperationPolicies {
  private readonly configuration: CallConfiguration
  private readonly policyOf: (id: string) => CallPolicy | undefined
  private readonly known = new Map<string, CallPolicy>()

  constructor(configuration: CallConfiguration, operation: string) {
    this.configuration = configuration
    this.policyOf = configuration.policiesOf(operation)
  }

  /** @throws POLICY_NOT_FOUND */
  get(id: string): CallPolicy {
    const found = this.known.get(id) ?? this.policyOf(id)
    if (found === undefined) {
      const known = [...this.configuration.policies.keys()].slice(0, 20).join(', ')
      throw new HoldfastError('POLICY_NOT_FOUND', `policy ${id} not found; expected one of ${known}`)
    }
    this.known.set(id, found)
    return found
  }
}

/** Compiles the operations of one configuration, each when it is first called. */
export class OperationCompiler {
  private readonly configuration: CallConfiguration
  private readonly parts: CompilerParts
  private readonly operations = new Map<string, CompiledOperation>()
  private readonly operationsByOptions = new Map<string, CompiledOperation>()
  private readonly operationsByPolicy = new Map<string, CompiledOperation>()

  constructor(configuration: CallConfiguration, parts: CompilerParts) {
    this.configuration = configuration
    this.parts = parts
  }

  operationFor(operation: string, options: CallOptions<unknown> | undefined): CompiledOperation {
    if (options === undefined)
      return this.operations.get(operation) ?? this.compileAndCache(this.operations, operation, operation, {})
    const { service, pool, policy } = options
    if (service === undefined && pool === undefined && policy === undefined)
      return this.operations.get(operation) ?? this.compileAndCache(this.operations, operation, operation, {})
    if (typeof policy === 'object') return this.operationForCustomPolicy(operation, options, policy)
    const key = JSON.stringify([operation, service, pool, policy])
    return (
      this.operationsByOptions.get(key) ??
      this.compileAndCache(this.operationsByOptions, key, operation, options)
    )
  }

  /**
   * Creates the breakers that this configuration names, so that they can be listed and reset before their first call, and
   * removes all others.
   */
  createBreakers(): void {
    const { configuration, parts } = this
    const { breakers } = parts.shared
    const ids = new Set<string>()
    for (const name of configuration.breakers.keys())
      ids.add(breakerForService(configuration, breakers, name).id)
    const policyOf = configuration.policiesOf('')
    for (const id of configuration.policies.keys()) {
      const policyRecord = policyOf(id)?.policy
      if (policyRecord === undefined) continue
      const breaker = breakerForPolicy(configuration, breakers, policyRecord, policyRecord)
      if (breaker !== undefined) ids.add(breaker.id)
    }
    breakers.removeExcept(ids)
    parts.shadowShared.breakers.removeExcept(ids)
  }

  /**
   * The compiled operation for a call with its own policy. It is cached by content, because the caller may change its
   * object between calls.
   */
  private operationForCustomPolicy(
    operation: string,
    options: CallOptions<unknown>,
    policy: object,
  ): CompiledOperation {
    const { operationsByPolicy } = this
    const key = contentKey([operation, options.service, options.pool, policy])
    if (key === undefined) return this.compile(operation, options)
    const existing = operationsByPolicy.get(key)
    if (existing !== undefined) return existing
    if (operationsByPolicy.size >= MAX_CUSTOM_POLICIES) operationsByPolicy.clear()
    return this.compileAndCache(operationsByPolicy, key, operation, options)
  }

  private compileAndCache(
    map: Map<string, CompiledOperation>,
    key: string,
    operation: string,
    options: CallOptions<unknown>,
  ): CompiledOperation {
    const operationEntry = this.compile(operation, options)
    if (map.size < MAX_OPERATIONS) map.set(key, operationEntry)
    return operationEntry
  }

  private compile(name: string, options: CallOptions<unknown>): CompiledOperation {
    checkOperation(name)
    const { configuration, parts } = this
    const { clock, random } = parts
    const operationConfig = configuration.operationConfig(name)
    const policies = new OperationPolicies(configuration, name)
    const givenPolicy = this.policyForOptions(policies, name, options, operationConfig)
    const kinds = givenPolicy === undefined ? operationConfig.policyByKind : new Map<string, string>()
    if (options.service !== undefined)
      breakerForService(configuration, parts.shared.breakers, options.service)
    const compiled = new Map<RetryPolicy, CompiledPolicy>()
    const compiledPolicy = (owned: OwnedPolicy) => {
      const existing = compiled.get(owned.record) ?? this.compilePolicy(owned, options.service)
      compiled.set(owned.record, existing)
      return existing
    }
    const first = givenPolicy ?? ownPolicy(policies.get(initialPolicyId(operationConfig)))
    const { record: policyRecord, owner, bulkheadPlace } = first
    const initialPolicy = compiledPolicy(first)
    const byKind = new Map<string, CompiledPolicy>()
    for (const [kind, id] of kinds) byKind.set(kind, compiledPolicy(ownPolicy(policies.get(id))))
    // The fallback policy decides about kinds that are not mapped. It can differ from the policy of the first attempt.
    const defaultPolicy =
      givenPolicy === undefined
        ? compiledPolicy(ownPolicy(policies.get(operationConfig.fallbackPolicyId)))
        : initialPolicy
    const isEnabled =
      givenPolicy === undefined
        ? operationConfig.isEnabled
        : operationConfig.isSubsystemEnabled && policyRecord.enabled
    const all = [...compiled.values()]
    const breakers = new Set(all.map(({ breaker }) => breaker).filter((breaker) => breaker !== undefined))
    const shadowPolicies = all.filter(({ shadow }) => shadow !== undefined)
    const isShadow = policyRecord.shadow
    const { limits } = parts.shared
    const settings = parseGuardOptions({
      name,
      timeout: { attempt: initialPolicy.attemptTimeout, total: initialPolicy.totalTimeout },
      clock,
      random,
      enabled: isEnabled,
      ...(options.pool !== undefined && { pool: parts.poolById(options.pool) }),
      ...(policyRecord.hedge && !isShadow && { hedge: policyRecord.hedge }),
    })
    const executorOptions = {
      refine: refineByKinds(operationConfig.errorKinds),
      hasOtherBreakers: breakers.size + shadowPolicies.length > 0,
    }
    const guard = new GuardExecutor(
      {
        ...settings,
        retry: initialPolicy.policy,
        ...(!isShadow && limits.limitsFor(policyRecord, owner, bulkheadPlace)),
      },
      executorOptions,
    )
    return {
      name,
      subsystem: operationConfig.subsystem,
      isEnabled,
      canSkipTracking: guard.useFastPath && breakers.size + shadowPolicies.length === 0,
      guard,
      executorOptions,
      policyByKind: byKind,
      initialPolicy,
      defaultPolicy,
      breakers: [...breakers],
      shadowPolicies,
      metrics: parts.metricsFor({
        operation: name,
        policyId: policyRecord.id,
        subsystem: operationConfig.subsystem,
        breakers: [
          ...[...breakers].map(({ id }) => id),
          ...(options.pool === undefined ? [] : [`pool:${encodeURIComponent(options.pool)}`]),
        ],
      }),
    }
  }

  private policyForOptions(
    policies: OperationPolicies,
    operation: string,
    options: CallOptions<unknown>,
    rules: OperationConfig,
  ): OwnedPolicy | undefined {
    const { policy, pool } = options
    if (typeof policy === 'string') return ownPolicy(policies.get(policy))
    if (policy !== undefined) return this.customPolicy(policies, operation, policy, rules)
    const poolPolicy = pool === undefined || rules.isMapped ? undefined : this.configuration.poolPolicy(pool)
    return poolPolicy === undefined ? undefined : ownPolicy(policies.get(poolPolicy))
  }

  /**
   * The policy fields of a call, merged over the policy with that id, else over the operation's policy, else over
   * `default`. Fields without an id get the operation as their id.
   */
  private customPolicy(
    policies: OperationPolicies,
    operation: string,
    policy: PolicyFields,
    rules: OperationConfig,
  ): OwnedPolicy {
    const id = policy.id
    const isKnown = id !== undefined && this.configuration.policies.has(id)
    const under = policies.get(isKnown ? id : id === undefined ? initialPolicyId(rules) : 'default')
    const { bulkheadPlace, isRetryDisabled } = under
    const own = mergePolicy(under.policy, id === undefined ? { id: operation, ...policy } : policy)
    const policyRecord = isRetryDisabled ? { ...own, maxAttempts: 1 } : own
    const owner = isKnown || id === undefined ? under.policy : policyRecord
    return { record: policyRecord, owner, bulkheadPlace, isRetryDisabled }
  }

  /** Compiles a policy. A policy that is disabled or in shadow mode makes one attempt and has no deadline. */
  private compilePolicy(
    { record: policyRecord, owner, bulkheadPlace, isRetryDisabled }: OwnedPolicy,
    service: string | undefined,
  ): CompiledPolicy {
    const policy = toCorePolicy(policyRecord)
    const attemptTimeout = toDeadline(policyRecord.attemptTimeout)
    const totalTimeout = toDeadline(policyRecord.totalTimeout)
    const { configuration } = this
    const { shared, shadowShared } = this.parts
    const breakerIn = ({ breakers }: SharedResources) =>
      service === undefined
        ? breakerForPolicy(configuration, breakers, policyRecord, owner)
        : breakerForService(configuration, breakers, service)
    if (policyRecord.enabled && !policyRecord.shadow)
      return {
        record: policyRecord,
        policy,
        attemptTimeout,
        totalTimeout,
        breaker: breakerIn(shared),
        isRetryDisabled,
      }
    const singleAttempt: CompiledPolicy = {
      record: policyRecord,
      policy: { ...policy, maxAttempts: 1 },
      attemptTimeout: Number.POSITIVE_INFINITY,
      totalTimeout: Number.POSITIVE_INFINITY,
      breaker: undefined,
      isRetryDisabled,
    }
    if (!policyRecord.enabled) return singleAttempt
    const breaker = breakerIn(shadowShared)
    const limits = shadowShared.limits.limitsFor(policyRecord, owner, bulkheadPlace)
    return { ...singleAttempt, shadow: { policy, attemptTimeout, totalTimeout, breaker, ...limits } }
  }
}

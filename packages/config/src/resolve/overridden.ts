import type { RetryPolicy } from '@holdfast/records'
import type { BreakerOptions, Duration } from 'holdfast'
import { parseDuration, toBreakerOptions } from 'holdfast/internal'
import type { Config } from '../schema/schema.js'
import { resolveOperation } from './operations.js'
import { type OperationOverrides, type OverrideValue, overridesFor } from './overrides.js'
import type { ResolvedConfig } from './resolve-config.js'
import { type FieldOrigin, ORIGIN_RANK, READY_POLICY, type ResolvedPolicy } from './resolve-policy.js'

/** A policy with the overrides for one operation. */
export interface OverriddenPolicy extends ResolvedPolicy {
  /** The scope of the overrides that set the bulkhead, if there are any. Calls of other scopes do not share it. */
  readonly bulkheadPlace: string
  /** Whether an override disables retries; the options of a call cannot enable them again. */
  readonly isRetryDisabled: boolean
  /** Notes about overrides that have no effect. */
  readonly notes: readonly string[]
}

type Values = Record<string, unknown>

const hasOwnBreaker = ({ enableCircuitBreaker, circuitBreaker }: RetryPolicy): boolean =>
  enableCircuitBreaker && circuitBreaker == null

/** Parses the duration of an override; undefined for an infinite one. */
const parseLimit = (value: unknown): number | undefined => {
  const ms = parseDuration(value as Duration)
  return ms > 0 && ms < Number.POSITIVE_INFINITY ? ms : undefined
}

/** A policy without overrides. Its origins are computed only when they are read. */
class UnchangedPolicy implements OverriddenPolicy {
  readonly bulkheadPlace = ''
  readonly isRetryDisabled = false
  readonly notes = []
  private readonly resolved: ResolvedPolicy

  constructor(resolved: ResolvedPolicy) {
    this.resolved = resolved
  }

  get policy(): RetryPolicy {
    return this.resolved.policy
  }

  get origins(): ResolvedPolicy['origins'] {
    return this.resolved.origins
  }
}

/** Collects the fields of a policy that overrides change. */
class Changes {
  readonly values: Values
  readonly origins: Record<string, FieldOrigin>
  readonly notes: string[] = []
  private readonly before: ResolvedPolicy

  constructor(before: ResolvedPolicy) {
    this.before = before
    this.values = { ...before.policy }
    this.origins = { ...before.origins }
  }

  /** Sets fields that belong together, unless a layer above the override has set one of them. */
  set(from: OverrideValue, fields: Values): boolean {
    const { before, values, origins } = this
    for (const field of Object.keys(fields)) {
      const held = before.origins[field]
      if (held === undefined || ORIGIN_RANK[held.origin] <= ORIGIN_RANK[from.origin.origin]) continue
      this.ignore(from, `${field} of the policy ${before.policy.id} comes from ${held.where ?? held.origin}`)
      return false
    }
    for (const [field, value] of Object.entries(fields)) {
      if (value === undefined) delete values[field]
      else values[field] = value
      origins[field] = from.origin
    }
    return true
  }

  ignore({ key, origin }: OverrideValue, why: string): void {
    const name = origin.origin === 'environment' ? origin.where : `overrides[${JSON.stringify(key)}]`
    this.notes.push(`${name} has no effect: ${why}`)
  }
}

/**
 * Applies overrides to a policy. They rank above the policies of the file and below the changes made through the API;
 * overrides from the environment rank above policy values from the environment.
 */
function overridePolicy(before: ResolvedPolicy, overrides: OperationOverrides): OverriddenPolicy {
  if (overrides.size === 0) return new UnchangedPolicy(before)
  const changes = new Changes(before)
  const isRetryDisabled = overrideRetry(changes, before, overrides)
  overrideTimeout(changes, overrides)
  const bulkheadPlace = overrideBulkhead(changes, before.policy, overrides)
  overrideBreakerSwitch(changes, before.policy, overrides)
  const { values, origins, notes } = changes
  return {
    policy: Object.freeze(values) as RetryPolicy,
    origins: Object.freeze(origins),
    bulkheadPlace,
    isRetryDisabled,
    notes,
  }
}

/** Applies the retry overrides, and returns whether retries are disabled. */
function overrideRetry(changes: Changes, before: ResolvedPolicy, overrides: OperationOverrides): boolean {
  const enabled = overrides.get('Retry/enabled')
  if (enabled?.value === false) return changes.set(enabled, { maxAttempts: 1 })
  const { policy } = before
  const fields: { readonly [setting: string]: (value: never) => Values } = {
    maxRetries: (retries: number) => ({ maxAttempts: retries < 0 ? Number.POSITIVE_INFINITY : retries + 1 }),
    delay: (delay: Duration) => ({ baseDelay: parseDuration(delay) }),
    maxDelay: (delay: Duration) => ({ maxDelay: parseDuration(delay) }),
    maxDuration: (duration: Duration) => ({ totalTimeout: parseLimit(duration) }),
    jitter: (jitter: Duration) => ({
      jitterType: 'additive',
      jitterMin: Math.min(policy.jitterMin, parseDuration(jitter)),
      jitterMax: parseDuration(jitter),
    }),
    // The override lists everything that is retried, so the status codes of the policy do not add to it.
    retryOn: (matchers: string[]) => ({
      retryableExceptions: matchers,
      ...(policy.retryStatusCodes && { retryStatusCodes: undefined }),
    }),
    abortOn: (matchers: string[]) => ({ abortExceptions: matchers }),
  }
  for (const [setting, fieldsOf] of Object.entries(fields)) {
    const from = overrides.get(`Retry/${setting}`)
    if (from !== undefined) changes.set(from, fieldsOf(from.value as never))
  }
  const name = overrides.get('Retry/name')
  if (name !== undefined) changes.ignore(name, 'a call is named by its operation, or by its own `name`')
  capBaseDelay(changes, before)
  return false
}

/** An overridden maximum also limits a first delay that no layer set, as it does between the layers below. */
function capBaseDelay({ values, origins }: Changes, before: ResolvedPolicy): void {
  const { origin, where } = before.origins.baseDelay ?? { origin: 'built-in' }
  const isGiven = origins.baseDelay !== before.origins.baseDelay
  if (isGiven || (origin !== 'built-in' && where !== READY_POLICY)) return
  const { baseDelay, maxDelay } = values as { baseDelay: number; maxDelay: number }
  if (maxDelay >= baseDelay) return
  values.baseDelay = maxDelay
  if (origins.maxDelay !== undefined) origins.baseDelay = origins.maxDelay
}

function overrideTimeout(changes: Changes, overrides: OperationOverrides): void {
  const enabled = overrides.get('Timeout/enabled')
  const value = overrides.get('Timeout/value')
  if (enabled?.value === false) changes.set(enabled, { attemptTimeout: undefined })
  else if (value !== undefined) changes.set(value, { attemptTimeout: parseLimit(value.value) })
}

function overrideBulkhead(changes: Changes, policy: RetryPolicy, overrides: OperationOverrides): string {
  const enabled = overrides.get('Bulkhead/enabled')
  const limit = overrides.get('Bulkhead/value')
  const queue = overrides.get('Bulkhead/waitingTaskQueue')
  if (enabled?.value === false) {
    changes.set(enabled, { bulkhead: undefined })
    return ''
  }
  if (queue !== undefined && limit === undefined && !policy.bulkhead) {
    changes.ignore(queue, `the policy ${policy.id} has no bulkhead, and Bulkhead/value gives it none`)
    return ''
  }
  const said = [queue, limit].filter((from) => from !== undefined)
  const [from] = said.toSorted((a, b) => b.place.length - a.place.length)
  if (from === undefined) return ''
  const bulkhead = Object.freeze({
    limit: limit?.value ?? policy.bulkhead?.limit,
    queue: queue?.value ?? policy.bulkhead?.queue ?? 0,
  })
  return changes.set(from, { bulkhead }) ? from.place : ''
}

function overrideBreakerSwitch(changes: Changes, policy: RetryPolicy, overrides: OperationOverrides): void {
  if (!hasOwnBreaker(policy)) {
    for (const [setting, from] of overrides)
      if (setting.startsWith('CircuitBreaker/'))
        changes.ignore(from, `the policy ${policy.id} has no circuit breaker of its own`)
    return
  }
  const enabled = overrides.get('CircuitBreaker/enabled')
  if (enabled?.value === false) changes.set(enabled, { enableCircuitBreaker: false })
}

/** The options of a policy's own breaker, and the overrides that set them, by option of the core. */
export interface OwnBreaker {
  readonly options: BreakerOptions
  readonly overrides: ReadonlyMap<string, OverrideValue>
}

/** The breaker options of the core by MicroProfile setting. */
const BREAKER_OPTION_BY_SETTING: { readonly [setting: string]: string } = {
  requestVolumeThreshold: 'minimumCalls',
  failureRatio: 'failureRate',
  delay: 'timeoutDuration',
  failOn: 'failureOn',
}

/** The policy fields that correspond to breaker settings. */
const POLICY_FIELDS: { readonly [setting: string]: 'circuitBreakerThreshold' | 'circuitBreakerTimeout' } = {
  failureThreshold: 'circuitBreakerThreshold',
  failureRate: 'circuitBreakerThreshold',
  windowType: 'circuitBreakerThreshold',
  timeoutDuration: 'circuitBreakerTimeout',
}

/**
 * Applies the overrides of all operations that use a policy to its own breaker, the least specific first. All calls of the
 * policy share the breaker, so each of these operations can change it.
 */
function createOwnBreaker(
  policy: RetryPolicy,
  origins: () => ResolvedPolicy['origins'],
  layers: readonly OperationOverrides[],
): OwnBreaker {
  const base: BreakerOptions = {
    windowType: 'consecutive',
    failureThreshold: policy.circuitBreakerThreshold,
    timeoutDuration: policy.circuitBreakerTimeout,
    successThreshold: 1,
  }
  const applied = new Map<string, OverrideValue>()
  const said: BreakerOptions[] = [base]
  for (const overrides of layers) {
    const settings: Values = {}
    for (const [setting, from] of overrides) {
      const word = /^CircuitBreaker\/(?!enabled$)(.*)$/.exec(setting)?.[1]
      if (word === undefined) continue
      const engineWord = BREAKER_OPTION_BY_SETTING[word] ?? word
      const held = origins()[POLICY_FIELDS[engineWord] ?? '']
      if (held !== undefined && ORIGIN_RANK[held.origin] > ORIGIN_RANK[from.origin.origin]) continue
      settings[word] = from.value
      applied.set(engineWord, from)
    }
    if (Object.keys(settings).length > 0) said.push(settings)
  }
  if (said.length === 1) return { options: base, overrides: applied }
  const { windowType, ...options } = toBreakerOptions(said)
  const isRated = options.failureRate !== undefined || options.slowCallRate !== undefined
  return {
    options: { ...options, ...((windowType ?? !isRated) && { windowType: windowType ?? 'consecutive' }) },
    overrides: applied,
  }
}

/** The policies of a config with their overrides. Nothing is computed before it is needed. */
export class OverriddenPolicies {
  private readonly resolved: ResolvedConfig
  private breakerLayers: ReadonlyMap<string, readonly OperationOverrides[]> | undefined = undefined

  constructor(resolved: ResolvedConfig) {
    this.resolved = resolved
  }

  /** The policies with the overrides for an operation. @throws INVALID_OPTIONS for a variable that is not valid */
  forOperation(operation: string): (id: string) => OverriddenPolicy | undefined {
    const { policies } = this.resolved
    const overrides = overridesFor(this.resolved, operation)
    return (id) => {
      const found = policies.get(id)
      return found && overridePolicy(found, overrides)
    }
  }

  /** The own breaker of a policy. */
  ownBreaker(policy: RetryPolicy): OwnBreaker {
    this.breakerLayers ??= breakerLayers(this.resolved)
    const layers = this.breakerLayers.get(policy.id) ?? this.breakerLayers.get('') ?? []
    return createOwnBreaker(policy, () => this.resolved.policies.get(policy.id)?.origins ?? {}, layers)
  }
}

/** The breaker overrides by policy, the least specific first; those of every policy under the empty name. */
function breakerLayers(resolved: ResolvedConfig): Map<string, OperationOverrides[]> {
  const every = overridesFor(resolved, '')
  const layers = new Map<string, OperationOverrides[]>([['', [every]]])
  for (const place of breakerPlaces(resolved)) {
    const found = overridesFor(resolved, place.replace('/', '.'))
    const own = new Map([...found].filter(([, from]) => from.place === place))
    if (own.size === 0) continue
    for (const id of policiesAt(resolved, place)) layers.set(id, [...(layers.get(id) ?? [every]), own])
  }
  return layers
}

/** The scopes that may have breaker overrides, classes before methods. */
function breakerPlaces({ config, policies, overrideVariables = {} }: ResolvedConfig): string[] {
  const places = new Set(
    Object.keys(config.overrides ?? {})
      .filter((key) => /\/CircuitBreaker\/[^/]*$/.test(key))
      .map((key) => key.split('/').slice(0, -2).join('/')),
  )
  // Operation names cannot be parsed from variable names, so all known names are tried.
  if (Object.keys(overrideVariables).some((name) => /_CIRCUITBREAKER_/.test(name))) {
    for (const id of policies.keys()) places.add(id)
    for (const operation of mappedOperations(config)) {
      places.add(operation.split('.')[0] ?? '')
      places.add(operation.replace('.', '/'))
    }
  }
  return [...places].toSorted((a, b) => a.split('/').length - b.split('/').length)
}

/** The operations that a config maps to policies, as `subsystem.operation`. */
export const mappedOperations = ({ subsystemMappings = {} }: Config): string[] =>
  Object.entries(subsystemMappings).flatMap(([subsystem, operations]) =>
    Object.keys(operations).map((operation) => `${subsystem}.${operation}`),
  )

/** The ids of the policies that operations of a scope use, as far as the config shows. */
export function policiesAt(resolved: ResolvedConfig, place: string): Set<string> {
  const { config, policies } = resolved
  const mapped = place.includes('/')
    ? []
    : mappedOperations(config).filter((operation) => operation.startsWith(`${place}.`))
  const isOperation = place.includes('/') || policies.has(place) || mapped.length === 0
  const ids = new Set<string>()
  for (const operation of isOperation ? [place.replace('/', '.'), ...mapped] : mapped) {
    const { policyByKind, fallbackPolicyId } = resolveOperation(resolved, operation)
    for (const id of [...policyByKind.values(), fallbackPolicyId]) ids.add(id)
  }
  return ids
}

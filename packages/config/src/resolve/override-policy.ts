import type { RetryPolicy } from '@holdfast/records'
import type { Duration } from 'holdfast'
import { parseDuration } from 'holdfast/internal'
import type { OperationOverrides, OverrideValue } from './overrides.js'
import { BUILT_IN_POLICY, type FieldOrigin, ORIGIN_RANK, type ResolvedPolicy } from './resolve-policy.js'

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
      const fieldOrigin = before.origins[field]
      if (fieldOrigin === undefined || ORIGIN_RANK[fieldOrigin.origin] <= ORIGIN_RANK[from.origin.origin])
        continue
      this.ignore(
        from,
        `${field} of the policy ${before.policy.id} comes from ${fieldOrigin.where ?? fieldOrigin.origin}`,
      )
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
export function overridePolicy(before: ResolvedPolicy, overrides: OperationOverrides): OverriddenPolicy {
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
  if (isGiven || (origin !== 'built-in' && where !== BUILT_IN_POLICY)) return
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
  const givenOverrides = [queue, limit].filter((from) => from !== undefined)
  const [from] = givenOverrides.toSorted((a, b) => b.scope.length - a.scope.length)
  if (from === undefined) return ''
  const bulkhead = Object.freeze({
    limit: limit?.value ?? policy.bulkhead?.limit,
    queue: queue?.value ?? policy.bulkhead?.queue ?? 0,
    ...(policy.bulkhead?.maxWait !== undefined && { maxWait: policy.bulkhead.maxWait }),
  })
  return changes.set(from, { bulkhead }) ? from.scope : ''
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

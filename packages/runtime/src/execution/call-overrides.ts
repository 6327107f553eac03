import { deepCopy } from '@holdfast/records'
import type { RetryOptions, TimeoutOptions } from 'holdfast'
import {
  createOptionsError,
  type EffectivePolicy,
  type OptionProblem,
  parseRetryOptions,
  parseTimeouts,
} from 'holdfast/internal'
import type { CallOptions } from '../api-types.js'
import type { CompiledPolicy } from './compiled-operation.js'

/** The `retry` and `timeout` options of a call at its start. Each policy is compiled with them once. */
export class CallOverrides {
  private readonly retry: RetryOptions | false | undefined
  private readonly timeout: TimeoutOptions | false | undefined
  private readonly compiled = new WeakMap<CompiledPolicy, CompiledPolicy>()

  constructor(retry: RetryOptions | false | undefined, timeout: TimeoutOptions | false | undefined) {
    // The caller may change its objects during the call.
    this.retry = deepCopy(retry)
    this.timeout = deepCopy(timeout)
  }

  /** Returns the policy with these options. @throws INVALID_OPTIONS */
  applyTo(rules: CompiledPolicy): CompiledPolicy {
    const compiled = this.compiled.get(rules) ?? compile(rules, this.retry, this.timeout)
    this.compiled.set(rules, compiled)
    return compiled
  }

  /** Whether the caller's retry options still have the same content. */
  hasSameRetry(retry: object): boolean {
    const before: Record<string, unknown> = { ...this.retry }
    const now = Object.entries(retry)
    return (
      now.length === Object.keys(before).length &&
      now.every(([field, value]) => isSameValue(before[field], value))
    )
  }
}

const isSameValue = (a: unknown, b: unknown): boolean =>
  a === b ||
  (Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, i) => item === b[i]))

const NO_RETRY_OVERRIDES = new CallOverrides(false, undefined)
const cache = new WeakMap<object, CallOverrides>()

/** The overrides of a call. Calls that pass only the same `retry` object share them. */
export function overridesFor({ retry, timeout }: CallOptions<unknown>): CallOverrides | undefined {
  if (timeout !== undefined) return new CallOverrides(retry, timeout)
  if (retry === undefined) return undefined
  if (retry === false) return NO_RETRY_OVERRIDES
  const cached = Object(retry) === retry ? cache.get(retry) : undefined
  if (cached?.hasSameRetry(retry)) return cached
  const overrides = new CallOverrides(retry, undefined)
  if (Object(retry) === retry) cache.set(retry, overrides)
  return overrides
}

/**
 * Merges the options of a call into a policy. A policy that is disabled or in shadow mode, or whose retries an override
 * disables, still makes one attempt.
 */
function compile(
  rules: CompiledPolicy,
  retry: RetryOptions | false | undefined,
  timeout: TimeoutOptions | false | undefined,
): CompiledPolicy {
  const { record, shadow, isRetryDisabled } = rules
  const withOptions = (before: EffectivePolicy): EffectivePolicy => {
    const problems: OptionProblem[] = []
    const policy = mergeRetryOptions(before.policy, retry, problems)
    const timeouts = timeout === undefined ? undefined : parseTimeouts(timeout, before, problems)
    if (problems.length > 0) throw createOptionsError('the call cannot be made', problems)
    return { ...before, ...timeouts, policy: isRetryDisabled ? { ...policy, maxAttempts: 1 } : policy }
  }
  if (shadow !== undefined) return { ...rules, shadow: { ...shadow, ...withOptions(shadow) } }
  const own = withOptions(rules)
  return record.enabled ? { ...rules, ...own } : rules
}

function mergeRetryOptions(
  policy: EffectivePolicy['policy'],
  retry: RetryOptions | false | undefined,
  problems: OptionProblem[],
): EffectivePolicy['policy'] {
  if (retry === undefined) return policy
  return retry === false ? { ...policy, maxAttempts: 1 } : parseRetryOptions(retry, policy, problems)
}

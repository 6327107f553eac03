import { deepCopy } from '@holdfast/records'
import type { RetryOptions } from 'holdfast'
import { createOptionsError, type OptionProblem, parseRetryOptions } from 'holdfast/internal'
import type { CompiledPolicy } from './compiled-operation.js'

/** The `retry` options of a call at its start. Each policy is compiled with them once. */
export class RetryOverrides {
  private readonly retry: RetryOptions | false
  private readonly compiled = new WeakMap<CompiledPolicy, CompiledPolicy>()

  constructor(retry: RetryOptions | false) {
    // The caller may change its object during the call.
    this.retry = deepCopy(retry)
  }

  /** Returns the policy with these options. @throws INVALID_OPTIONS */
  applyTo(rules: CompiledPolicy): CompiledPolicy {
    const compiled = this.compiled.get(rules) ?? compile(rules, this.retry)
    this.compiled.set(rules, compiled)
    return compiled
  }

  /** Whether the caller's object still has the same content. */
  isSameAs(retry: object): boolean {
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

const NO_RETRY = new RetryOverrides(false)
const cache = new WeakMap<object, RetryOverrides>()

/** The overrides of a call. Calls that pass the same object share them. */
export function overridesFor(retry: RetryOptions | false): RetryOverrides {
  if (retry === false) return NO_RETRY
  const cached = Object(retry) === retry ? cache.get(retry) : undefined
  if (cached?.isSameAs(retry)) return cached
  const overrides = new RetryOverrides(retry)
  if (Object(retry) === retry) cache.set(retry, overrides)
  return overrides
}

/**
 * Merges the options of a call into a policy. A policy that is disabled or in shadow mode, or whose retries an override
 * disables, still makes one attempt.
 */
function compile(rules: CompiledPolicy, retry: RetryOptions | false): CompiledPolicy {
  const { record, shadow, policy, isRetryDisabled } = rules
  const withOptions = (before: CompiledPolicy['policy']) => {
    const own = mergeRetryOptions(before, retry)
    return isRetryDisabled ? { ...own, maxAttempts: 1 } : own
  }
  if (shadow !== undefined) return { ...rules, shadow: { ...shadow, policy: withOptions(shadow.policy) } }
  const own = withOptions(policy)
  return record.enabled ? { ...rules, policy: own } : rules
}

function mergeRetryOptions(
  policy: CompiledPolicy['policy'],
  retry: RetryOptions | false,
): CompiledPolicy['policy'] {
  if (retry === false) return { ...policy, maxAttempts: 1 }
  const problems: OptionProblem[] = []
  const read = parseRetryOptions(retry, policy, problems)
  if (problems.length > 0) throw createOptionsError('the call cannot be made', problems)
  return read
}

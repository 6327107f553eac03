import { type Problem, parsePolicyEntry } from '@holdfast/config'
import type { PolicyFields, RetryPolicy } from '@holdfast/records'
import { classify, HoldfastError, type Matcher, type RetryOptions } from 'holdfast'
import {
  type CompiledRetryPolicy as EnginePolicy,
  parseRetryOptions,
  RETRY_DEFAULTS,
} from 'holdfast/internal'

/**
 * Which errors a policy retries, as matchers; undefined leaves it to the classification. Statuses speak of errors that
 * have one, names of all the others; where both are given, either may ask for another attempt.
 */
function retryMatchers({
  retryableExceptions: names,
  retryStatusCodes: codes,
}: RetryPolicy): Matcher[] | undefined {
  if (codes === undefined || codes === null) return names ?? undefined
  const allowed = new Set(codes)
  const matchesStatus = (error: unknown): boolean => {
    const { httpStatus, category } = classify(error)
    if (httpStatus !== undefined) return allowed.has(httpStatus)
    return (names === undefined || names === null) && category === 'transient'
  }
  return [matchesStatus, ...(names ?? [])]
}

/** A policy of the file in the engine's form, checked. */
export function toCorePolicy(record: RetryPolicy): EnginePolicy {
  const { baseDelay, maxDelay } = record
  const matchers = retryMatchers(record)
  const options: RetryOptions = {
    maxAttempts: record.maxAttempts,
    backoffType: record.backoffType,
    baseDelay,
    multiplier: record.multiplier,
    maxDelay,
    jitterType: record.jitterType,
    jitterAmount: record.jitterAmount,
    jitterMin: record.jitterMin,
    jitterMax: record.jitterMax,
    respectRetryAfter: record.respectRetryAfter,
    maxRetryAfter: record.maxRetryAfter,
    ...(matchers && { retryOn: matchers }),
    ...(record.abortExceptions && { abortOn: record.abortExceptions }),
  }
  const problems: string[] = []
  const policy = parseRetryOptions(options, RETRY_DEFAULTS, problems)
  if (problems.length > 0)
    throw new HoldfastError('INVALID_OPTIONS', `policy ${record.id}: ${problems.join('; ')}`, {
      details: problems,
    })
  return policy
}

/** A deadline of the file in the engine's form: none is Infinity. */
export const toDeadline = (ms: number | null | undefined): number => ms ?? Number.POSITIVE_INFINITY

/** A policy with some of its fields replaced by those that a call brings along. @throws INVALID_OPTIONS */
export function mergePolicy(base: RetryPolicy, policy: PolicyFields): RetryPolicy {
  const problems: Problem[] = []
  const entry = parsePolicyEntry(policy, 'code', problems)
  if (problems.length > 0) {
    const details = problems.map(({ path, message }) => `policy.${path}: ${message}`)
    throw new HoldfastError('INVALID_OPTIONS', `the call cannot be made: ${details.join('; ')}`, { details })
  }
  return { ...base, name: entry.id ?? base.name, ...entry } as RetryPolicy
}

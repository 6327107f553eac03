import { type ConfigProblem, createCallInvalid, parsePolicyEntry } from '@holdfast/config'
import { POLICY_FIELDS, type PolicyFields, type RetryPolicy, snakeKey } from '@holdfast/records'
import { classify, type Matcher, type RetryOptions } from 'holdfast'
import {
  type CompiledRetryPolicy,
  createOptionsError,
  type OptionProblem,
  parseRetryOptions,
  RETRY_DEFAULTS,
} from 'holdfast/internal'

/**
 * The errors that a policy retries, as matchers; undefined where the classification decides. Status codes apply to errors
 * that have one, names to all others. With both, either of them can cause a retry.
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

/** The options of the core that a policy has under the same name. Status codes are matchers in the core. */
const RETRY_OPTION_NAMES = Object.keys(RETRY_DEFAULTS).filter(
  (name) => snakeKey(name) in POLICY_FIELDS && name !== 'retryStatusCodes',
)

/** Converts a policy of the file to the options of the core, and checks them. */
export function toCorePolicy(record: RetryPolicy): CompiledRetryPolicy {
  const matchers = retryMatchers(record)
  const options: RetryOptions = {
    ...Object.fromEntries(RETRY_OPTION_NAMES.map((name) => [name, record[name as keyof RetryPolicy]])),
    ...(matchers && { retryOn: matchers }),
    ...(record.abortExceptions && { abortOn: record.abortExceptions }),
  }
  const problems: OptionProblem[] = []
  const policy = parseRetryOptions(options, RETRY_DEFAULTS, problems)
  if (problems.length > 0) throw createOptionsError(`policy ${record.id}`, problems)
  return policy
}

/** Converts a timeout of the file for the core, where no timeout is Infinity. */
export const toDeadline = (ms: number | null | undefined): number => ms ?? Number.POSITIVE_INFINITY

/** Merges the policy fields of a call over a policy. @throws INVALID_OPTIONS */
export function mergePolicy(base: RetryPolicy, policy: PolicyFields): RetryPolicy {
  const problems: ConfigProblem[] = []
  const entry = parsePolicyEntry(policy, 'code', problems)
  if (problems.length > 0)
    throw createCallInvalid(
      'the call cannot be made',
      problems.map((problem) => ({ ...problem, path: `policy.${problem.path}` })),
    )
  return { ...base, name: entry.id ?? base.name, ...entry } as RetryPolicy
}

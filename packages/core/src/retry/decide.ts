import type { Classification } from '../classify/index.js'
import type { Random } from '../clock.js'
import { report } from '../report.js'
import { delayBefore } from './delay.js'
import type { Outcome, RetryPolicy } from './options.js'

/** Why a call ended. */
export type StopReason =
  | 'succeeded'
  | 'not_retryable'
  | 'attempts_spent'
  | 'deadline'
  | 'budget_spent'
  | 'circuit_open'
  | 'pool_unavailable'
  | 'network_down'
  | 'bulkhead_full'
  | 'unwanted_value'
  | 'cancelled'
  | 'aborted'

/** Whether the policy wants another attempt after this error, leaving aside how many are left. */
export function isRetryable(
  policy: RetryPolicy,
  error: unknown,
  classification: Classification,
  attempt: number,
): boolean {
  if (policy.unwanted?.(error, classification)) return false
  // Asked first, so that it hears of every error and not only of those that nothing else retries.
  if (asksAgain(policy, { error, attempt })) return true
  return policy.wanted ? policy.wanted(error, classification) : classification.category === 'transient'
}

/** Whether `retryIf` asks for another attempt. One that throws asks for nothing. */
export function asksAgain(policy: RetryPolicy, outcome: Outcome): boolean {
  if (policy.retryIf === undefined) return false
  try {
    return policy.retryIf(outcome) === true
  } catch (thrown) {
    report('retryIf', policy.retryIf, thrown)
    return false
  }
}

/**
 * How long to wait before the next attempt, or why there is none.
 *
 * @param attempt - the number of the attempt that failed
 * @param delay - the wait before it
 * @param left - milliseconds until the total deadline; Infinity where there is none
 */
export function nextDelay(
  policy: RetryPolicy,
  attempt: number,
  error: unknown,
  retryAfter: number | undefined,
  delay: number,
  left: number,
  random: Random,
): number | StopReason {
  const { respectRetryAfter, maxRetryAfter, baseDelay } = policy
  if (attempt >= policy.maxAttempts) return 'attempts_spent'
  // A user's `classify` may tell anything.
  const known = typeof retryAfter === 'number' && retryAfter >= 0
  const hint = respectRetryAfter && known ? retryAfter : undefined
  if (hint !== undefined && hint > maxRetryAfter) return 'deadline'
  const wait = hint ?? delayBefore(policy, attempt, attempt === 1 ? baseDelay : delay, random, error)
  return wait < left ? wait : 'deadline'
}

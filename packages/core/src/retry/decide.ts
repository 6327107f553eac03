import { isErrorLike } from '../classify/classification.js'
import type { Classification } from '../classify/index.js'
import type { Random } from '../clock.js'
import { reportOnce } from '../report.js'
import { computeDelay } from './delay.js'
import type { CompiledRetryPolicy, Outcome } from './options.js'
import type { StopReason } from './stop-reason.js'

/** The key of a property that only the errors of `stopRetrying` have, also those of another installation of this package. */
export const STOP_RETRYING = Symbol.for('holdfast.stop-retrying')

/** Whether an error comes from `stopRetrying`, so that the call ends with its cause. */
export function isStopRetrying(error: unknown): error is Error {
  // With its own `in`, because V8 looks a key up slowly in a function that is called with several keys.
  try {
    return isErrorLike(error) && STOP_RETRYING in error
  } catch {
    return false
  }
}

/** The error that was passed to `stopRetrying`, or the same error where it comes from elsewhere. */
export function unwrapStopRetrying(error: unknown): unknown {
  let unwrapped = error
  while (isStopRetrying(unwrapped)) unwrapped = unwrapped.cause
  return unwrapped
}

/** Rethrows an error, or the one that was passed to `stopRetrying`. */
export const throwUnwrapped = (error: unknown): never => {
  throw unwrapStopRetrying(error)
}

/**
 * Whether the policy allows a retry after this error, regardless of how many attempts are left.
 *
 * @param isMemberFault - whether a pool member caused the error, so that another member can succeed
 */
export function isRetryable(
  policy: CompiledRetryPolicy,
  error: unknown,
  classification: Classification,
  attempt: number,
  isMemberFault = false,
): boolean {
  if (policy.matchesAbortOn?.(error, classification)) return false
  if (isMemberFault) return true
  // `retryIf` comes first, so that it is called with every error and not only with those that no other rule retries.
  if (shouldRetryOutcome(policy, { error, attempt })) return true
  return policy.matchesRetryOn
    ? policy.matchesRetryOn(error, classification)
    : classification.category === 'transient'
}

/** Whether `retryIf` returns true. A function that throws is reported once and counts as false. */
export function shouldRetryOutcome(policy: CompiledRetryPolicy, outcome: Outcome): boolean {
  if (policy.retryIf === undefined) return false
  try {
    return policy.retryIf(outcome) === true
  } catch (thrown) {
    reportOnce('retryIf', policy.retryIf, thrown)
    return false
  }
}

/**
 * Returns the delay before the next attempt, or the reason why there is none. A Retry-After above `maxRetryAfter` is reported as
 * `deadline`: the call would have to wait longer than it may.
 *
 * @param attempt - the number of the attempt that failed
 * @param previousDelay - the delay before that attempt
 * @param remaining - milliseconds until the total deadline, Infinity for no deadline
 * @param step - the number of failures that the backoff counts; fewer than attempts where it was restarted
 */
export function nextDelay(
  policy: CompiledRetryPolicy,
  attempt: number,
  error: unknown,
  retryAfter: number | undefined,
  previousDelay: number,
  remaining: number,
  random: Random,
  step = attempt,
): number | StopReason {
  const { respectRetryAfter, maxRetryAfter, baseDelay } = policy
  if (attempt >= policy.maxAttempts) return 'attempts_spent'
  // A user's `classify` can return any value.
  const hasRetryAfter = typeof retryAfter === 'number' && retryAfter >= 0
  const retryAfterDelay = respectRetryAfter && hasRetryAfter ? retryAfter : undefined
  if (retryAfterDelay !== undefined && retryAfterDelay > maxRetryAfter) return 'deadline'
  const delay =
    retryAfterDelay ?? computeDelay(policy, step, step === 1 ? baseDelay : previousDelay, random, error)
  return delay < remaining ? delay : 'deadline'
}

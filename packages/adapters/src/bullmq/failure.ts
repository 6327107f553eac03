import { classify, isHoldfastError, type Random, sessionOf } from 'holdfast'
import { type CompiledRetryPolicy, isRetryable, nextDelay, ownErrorOf } from 'holdfast/internal'

/**
 * What happens to a job after a failed attempt:
 * - `postpone`: a breaker, pool or bulkhead rejected the job, so it waits without having used an attempt
 * - `rate_limit`: the server allows no more requests, so the queue waits and the job has not used an attempt
 * - `retry`: BullMQ retries it after the delay
 * - `end`: it has failed and is not retried
 */
export type FailureAction =
  | { readonly type: 'postpone' | 'rate_limit' | 'retry'; readonly delay: number }
  | { readonly type: 'end' }

/** Whether a call is rejected with this code before its first attempt. */
function isRejection(code: string): boolean {
  const rejects = ownErrorOf(code)?.[2]
  return rejects === 'operation' || rejects === 'call'
}

/** A rejected job is not started again sooner, because a breaker can be half open for only a moment. */
const MIN_POSTPONE_MS = 100

/** The attempts of a job, as BullMQ counts them. */
export interface JobAttempts {
  /** The number of the failed attempt, 1 for the first. */
  readonly number: number
  /** The maximum number of attempts. */
  readonly max: number
  /** The delay before the failed attempt. */
  readonly previousDelay: number
}

const END: FailureAction = { type: 'end' }

/**
 * Whether a retry of the job can succeed. The guard has decided this already; matchers of the job's own retry options take
 * precedence, and without a guard's session the error is classified.
 */
function canRetry(policy: CompiledRetryPolicy, error: unknown, attempt: number): boolean {
  const stopped = sessionOf(error)?.stopped
  const isAllowed = isRetryable(policy, error, classify(error), attempt)
  if (stopped === undefined || policy.retryOn !== undefined || policy.abortOn !== undefined) return isAllowed
  return stopped !== 'not_retryable'
}

/** Decides what happens to a job after a failed attempt. */
export function decideFailure(
  error: unknown,
  { number, max, previousDelay }: JobAttempts,
  policy: CompiledRetryPolicy,
  random: Random,
): FailureAction {
  const { kind, retryAfter } = classify(error)
  const unlimited = { ...policy, maxAttempts: Infinity }
  const delay = nextDelay(unlimited, number, error, retryAfter, previousDelay, Infinity, random)
  if (isHoldfastError(error) && isRejection(error.code)) {
    const wait = error.retryAfter ?? (typeof delay === 'number' ? delay : policy.maxDelay)
    return { type: 'postpone', delay: Math.max(MIN_POSTPONE_MS, Math.ceil(wait)) }
  }
  // A string in place of a delay is the reason why there is no retry: Retry-After exceeds `maxRetryAfter`.
  if (typeof delay !== 'number' || !canRetry(policy, error, number)) return END
  if (kind === 'rate_limited') return { type: 'rate_limit', delay: Math.max(1, Math.ceil(delay)) }
  return number < max ? { type: 'retry', delay: Math.ceil(delay) } : END
}

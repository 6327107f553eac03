import { type Clock, MAX_TIMER_MS, YIELD_EVERY_ATTEMPTS } from '../clock.js'
import { HoldfastError } from '../errors.js'
import {
  isRetryable,
  isStopRetrying,
  nextDelay,
  shouldRetryOutcome,
  unwrapStopRetrying,
} from '../retry/decide.js'
import { classifyByRules } from './error-rules.js'
import { parseRetryFunctionOptions, type RetryFunctionOptions } from './options.js'

/** The argument of the function: its attempt. */
export interface RetryAttempt {
  /** The number of the attempt, 1 for the first. */
  readonly number: number
  /** Aborted when the deadline passes or the caller aborts. */
  readonly signal: AbortSignal
}

/**
 * Calls `fn` until it succeeds, without a guard: a small function for programs that need retries alone. It has the options of
 * `guard({ retry })`, and rejects with the unchanged error of the last attempt. An error is retried unless its HTTP status or
 * its class says that a retry cannot help; pass `classify` of `holdfast` to classify errors as a guard does.
 *
 * @throws INVALID_OPTIONS that lists every problem of the options
 *
 * @example
 * ```ts
 * import { retry } from 'holdfast/retry'
 *
 * const answer = await retry(
 *   async ({ number }) => {
 *     if (number < 3) throw new Error('still starting')
 *     return `attempt ${number}`
 *   },
 *   { maxAttempts: 3, baseDelay: 1, jitterType: 'full' },
 * )
 * answer // => 'attempt 3'
 * ```
 */
export async function retry<T>(
  fn: (attempt: RetryAttempt) => T | PromiseLike<T>,
  options: RetryFunctionOptions = {},
): Promise<T> {
  const policy = parseRetryFunctionOptions(options)
  const { signal, classify, clock, random, totalTimeout } = policy
  const totalDeadline = clock.now() + totalTimeout
  let delay = 0
  let lastError: { cause?: unknown } = {}
  for (let attempt = 1; ; attempt++) {
    let hasThrown = false
    const result = await runUntil(
      clock,
      signal,
      totalDeadline,
      fn,
      attempt,
      () => new HoldfastError('TOTAL_TIMEOUT', `took over ${totalTimeout} ms`, lastError),
    ).catch((error) => {
      hasThrown = true
      return error
    })
    if (hasThrown) signal?.throwIfAborted()
    if (hasThrown && isStopRetrying(result)) throw unwrapStopRetrying(result)
    if (!hasThrown && !shouldRetryOutcome(policy, { value: result, attempt })) return result
    const classification = classifyByRules(result, clock.wall(), classify)
    const isRetried = hasThrown
      ? isRetryable(policy, result, classification, attempt)
      : !policy.matchesAbortOn?.(result, classification)
    const next =
      isRetried &&
      nextDelay(
        policy,
        attempt,
        result,
        classification.retryAfter,
        delay,
        totalDeadline - clock.now(),
        random,
      )
    if (typeof next !== 'number') {
      if (hasThrown) throw result
      return result
    }
    delay = next
    if (hasThrown) lastError = { cause: result }
    if (delay > 0 || attempt % YIELD_EVERY_ATTEMPTS === 0)
      await runUntil(clock, signal, clock.now() + delay, never, attempt, never).catch(() =>
        signal?.throwIfAborted(),
      )
  }
}

const never = (): Promise<never> => new Promise(() => {})

/**
 * Settles like `fn`, unless the signal is aborted or `dueAt` is reached before. Then the signal of `fn` is aborted, and the
 * promise rejects with the reason, or with the error that `createError` returns. It calls `fn` itself and awaits it, so that
 * the stack of an error has few frames of this file and includes the caller.
 */
async function runUntil<T>(
  clock: Clock,
  signal: AbortSignal | undefined,
  dueAt: number,
  fn: (attempt: RetryAttempt) => T | PromiseLike<T>,
  number: number,
  createError: () => unknown,
): Promise<T> {
  signal?.throwIfAborted()
  const controller = new AbortController()
  let cancel!: (error: unknown) => void
  const cancelled = new Promise<never>((_, reject) => {
    cancel = (error) => {
      reject(error)
      controller.abort(error)
    }
  })
  cancelled.catch(() => {}) // it can reject before the race, and `fn` can throw
  const onAbort = () => cancel(signal?.reason)
  let timer: unknown
  let isWaiting = false
  const waitUntilDue = () => {
    const left = dueAt - clock.now()
    // A wait of 0 also sets a timer once. A clock can return any handle, and call back before it returns one.
    if (left > 0 || !isWaiting) {
      isWaiting = true
      if (left < Infinity) timer = clock.setTimer(waitUntilDue, Math.min(MAX_TIMER_MS, left))
    } else cancel(createError())
  }
  signal?.addEventListener('abort', onAbort)
  try {
    waitUntilDue()
    return await Promise.race([cancelled, fn({ number, signal: controller.signal })])
  } finally {
    clock.clearTimer(timer)
    signal?.removeEventListener('abort', onAbort)
  }
}

import { stopRetrying } from 'holdfast'
import { retry } from 'holdfast/retry'
import { createDelayClock } from '../delay-clock.js'
import { random, startTimer, wallTime } from '../platform.js'
import { AbortError } from './abort-error.js'
import { isNetworkError } from './network-error.js'
import { type Options, parseOptions, type RetryContext, type Settings } from './options.js'

/**
 * Calls `input` until it succeeds, as p-retry does: it rejects with the error of the last attempt, retries every error except an
 * {@link AbortError} and a TypeError that is not a network error, and awaits `onFailedAttempt` and `shouldRetry`.
 *
 * @param input - gets the number of the attempt, 1 for the first
 */
export async function pRetry<T>(
  input: (attemptNumber: number) => PromiseLike<T> | T,
  options: Options = {},
): Promise<T> {
  const settings = parseOptions({ ...options })
  const { signal } = settings
  signal?.throwIfAborted()
  const startedAt = wallTime()
  let delay = 0

  // p-retry awaits a running attempt when the signal is aborted. The engine would not, so it gets the abort only in a delay.
  const delayController = new AbortController()
  let isDelayed = false
  const onAbort = () => {
    if (isDelayed) delayController.abort(signal?.reason)
  }
  signal?.addEventListener('abort', onAbort)

  try {
    return await retry(
      async ({ number }) => {
        isDelayed = false
        try {
          signal?.throwIfAborted()
          const result = await input(number)
          signal?.throwIfAborted()
          return result
        } catch (thrown) {
          // Both callbacks can be asynchronous, which the predicates of the engine are not: the attempt includes them.
          delay = await delayAfter(thrown, number, settings, startedAt).catch((error) => {
            throw stopRetrying(error)
          })
          if (signal?.aborted) throw stopRetrying(signal.reason)
          isDelayed = true
          throw thrown
        }
      },
      {
        maxAttempts: Number.POSITIVE_INFINITY, // delayAfter counts the attempts, because shouldRetry depends on the count
        retryIf: ({ error }) => error !== undefined,
        backoffType: () => delay,
        maxDelay: Number.POSITIVE_INFINITY,
        respectRetryAfter: false,
        signal: delayController.signal,
        clock: createDelayClock((fn, ms) => startTimer(fn, ms, settings.unref === true)),
      },
    )
  } finally {
    signal?.removeEventListener('abort', onAbort)
  }
}

/** Returns a function that calls `function_` with {@link pRetry}, with its own `this` and arguments. */
export function makeRetriable<Arguments extends readonly unknown[], Result>(
  function_: (...arguments_: Arguments) => PromiseLike<Result> | Result,
  options?: Options,
): (...arguments_: Arguments) => Promise<Result> {
  return function (this: unknown, ...arguments_) {
    return pRetry(() => function_.call(this, ...arguments_), options)
  }
}

/** Returns the delay before the next attempt. @throws the error of the call if there is none */
async function delayAfter(
  thrown: unknown,
  attemptNumber: number,
  settings: Settings,
  startedAt: number,
): Promise<number> {
  const error = toError(thrown)
  if (error instanceof AbortError) throw error.originalError
  if (error instanceof TypeError && !isNetworkError(error)) throw error

  const retriesLeft = settings.retries - (attemptNumber - 1)
  const context: RetryContext = Object.freeze({ error, attemptNumber, retriesLeft })
  await settings.onFailedAttempt(context)

  const timeLeft = settings.maxRetryTime - (wallTime() - startedAt)
  if (timeLeft <= 0 || retriesLeft <= 0 || !(await settings.shouldRetry(context))) throw error
  return Math.min(backoff(attemptNumber, settings), timeLeft)
}

const toError = (thrown: unknown): Error =>
  thrown instanceof Error
    ? thrown
    : new TypeError(`Non-error was thrown: "${thrown}". You should only throw errors.`)

function backoff(retryNumber: number, { randomize, minTimeout, maxTimeout, factor }: Settings): number {
  const scale = randomize ? random() + 1 : 1
  return Math.min(Math.round(scale * Math.max(minTimeout, 1) * factor ** (retryNumber - 1)), maxTimeout)
}

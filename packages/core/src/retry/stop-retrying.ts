import { STOP_RETRYING } from './decide.js'

/** The error that {@link stopRetrying} returns. Guards throw its cause instead. */
class StopRetryingError extends Error {
  override readonly name = 'StopRetryingError'

  constructor(cause: unknown) {
    super('retries were stopped by stopRetrying', { cause })
    // Not a field with a computed key, because a bundler cannot leave out a class with one.
    Object.defineProperty(this, STOP_RETRYING, { value: true, enumerable: true })
  }
}

/**
 * Returns an error that ends the call of the innermost guard when it is thrown: the call is not retried and rejects with
 * `error` itself, whatever its class. Breaker and classification see `error`. An outer guard sees `error` too and can retry it.
 * Outside of a guard the returned error is an Error with `error` as its cause.
 *
 * @example
 * ```ts
 * import { guard, stopRetrying } from 'holdfast'
 *
 * let calls = 0
 * const error = await guard({ retry: { maxAttempts: 5, backoffType: 'immediate' } })
 *   .run(async () => {
 *     calls++
 *     throw stopRetrying(new Error('the account is closed'))
 *   })
 *   .catch((thrown) => thrown)
 * error.message // => 'the account is closed'
 * calls // => 1
 * ```
 */
export function stopRetrying(error: unknown): Error {
  return new StopRetryingError(error)
}

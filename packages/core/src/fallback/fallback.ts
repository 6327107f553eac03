import { offAbort, onAbort } from '../execution/abort.js'
import type { Deferred } from '../execution/deferred.js'
import type { FallbackInfo } from '../guard/options.js'
import { transferSession } from '../session/session.js'

/**
 * Settles a failed call with the result of the fallback. The caller's abort still ends it at once. An error that the
 * fallback throws gets the original error as its cause and takes over the session of the call.
 */
export function runFallback<T>(
  fallback: (error: unknown, info: FallbackInfo) => unknown,
  error: unknown,
  info: FallbackInfo,
  signal: AbortSignal | undefined,
  deferred: Deferred<T>,
): void {
  if (signal?.aborted) {
    deferred.reject(signal.reason) // a listener aborted it
    return
  }
  const listener = { abort: deferred.reject }
  if (signal !== undefined) onAbort(signal, listener)
  const value = (async () => (await fallback(error, info)) as T)()
  value
    .then(deferred.resolve, (thrown: unknown) => {
      transferSession(error, thrown)
      deferred.reject(withCause(thrown, error))
    })
    .finally(() => {
      if (signal !== undefined) offAbort(signal, listener)
    })
}

/** Errors whose cause was set here: one that is thrown repeatedly gets the latest cause, not a chain of all. */
const errorsWithSetCause = new WeakSet<Error>()

/** Returns the error that a fallback threw, with the original error at the end of its chain of causes. */
export function withCause(thrown: unknown, original: unknown): unknown {
  const seen = new Set<unknown>([original])
  let end = thrown
  while (end instanceof Error && !seen.has(end) && end.cause !== undefined && !errorsWithSetCause.has(end)) {
    seen.add(end)
    end = end.cause
  }
  if (end instanceof Error && !seen.has(end)) {
    try {
      Object.defineProperty(end, 'cause', { value: original, configurable: true, writable: true })
      errorsWithSetCause.add(end)
    } catch {
      // A frozen error stays as it is.
    }
  }
  return thrown
}

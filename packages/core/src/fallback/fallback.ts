import { offAbort, onAbort } from '../abort.js'
import type { Deferred } from '../deferred.js'
import { unwrapStopRetrying } from '../retry/decide.js'
import { transferSession } from '../session/session.js'

/** The information that a fallback gets in addition to the error. */
export interface FallbackInfo {
  /** The number of the last attempt. */
  readonly attempt: number
  /** The call's context. */
  readonly context: unknown
}

/** Returns a value in place of an error. */
export type Fallback = (error: unknown, info: FallbackInfo) => unknown

/**
 * Settles a failed call with the result of the fallback. The caller's abort still ends it at once. An error that the
 * fallback throws gets the original error as its cause and takes over the session of the call.
 */
export function runFallback<T>(
  fallback: Fallback,
  error: unknown,
  info: FallbackInfo,
  signal: AbortSignal | undefined,
  deferred: Deferred<T>,
): void {
  if (signal?.aborted) {
    deferred.reject(signal.reason) // a listener aborted the call
    return
  }
  const listener = { abort: deferred.reject }
  if (signal !== undefined) onAbort(signal, listener)
  const value = (async () => (await fallback(error, info)) as T)()
  value
    .then(deferred.resolve, (rejection: unknown) => {
      const thrown = unwrapStopRetrying(rejection)
      transferSession(error, thrown)
      deferred.reject(withCause(thrown, error))
    })
    .finally(() => {
      if (signal !== undefined) offAbort(signal, listener)
    })
}

/** Errors whose cause was set here. An error that is thrown repeatedly gets the latest cause instead of a chain of all. */
const errorsWithSetCause = new WeakSet<Error>()

/** Returns the error that a fallback threw, with the original error at the end of its chain of causes. */
export function withCause(thrown: unknown, original: unknown): unknown {
  const seen = new Set<unknown>([original])
  let end = thrown
  while (end instanceof Error && !seen.has(end) && end.cause !== undefined && !errorsWithSetCause.has(end)) {
    seen.add(end)
    end = end.cause
  }
  if (!seen.has(end)) setCause(end, original)
  return thrown
}

/** Sets the cause of an error that has none, or one that was set here. */
export function setCause(error: unknown, cause: unknown): void {
  if (!(error instanceof Error) || error === cause) return
  if (error.cause !== undefined && !errorsWithSetCause.has(error)) return
  try {
    Object.defineProperty(error, 'cause', { value: cause, configurable: true, writable: true })
    errorsWithSetCause.add(error)
  } catch {
    // A frozen error stays unchanged.
  }
}

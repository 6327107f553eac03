import { follow, unfollow } from './abort.js'
import type { FallbackInfo } from './options.js'
import { passSessionOn } from './session.js'

/**
 * Settles a failed call with what the fallback makes of it. The caller's abort still ends it at once, and an error of
 * the fallback's own carries the original as its cause, and stands for the session of the call.
 */
export function fallBack<T>(
  fallback: (error: unknown, info: FallbackInfo) => unknown,
  error: unknown,
  info: FallbackInfo,
  signal: AbortSignal | undefined,
  call: { resolve(value: T): void; reject(error: unknown): void },
): void {
  if (signal?.aborted) {
    call.reject(signal.reason) // by a listener that heard of the failure
    return
  }
  const follower = { abort: call.reject }
  if (signal !== undefined) follow(signal, follower)
  const value = (async () => (await fallback(error, info)) as T)()
  value
    .then(call.resolve, (thrown: unknown) => {
      passSessionOn(error, thrown)
      call.reject(withCause(thrown, error))
    })
    .finally(() => {
      if (signal !== undefined) unfollow(signal, follower)
    })
}

/** Errors whose cause was put there: one thrown again and again gets the latest, not a chain of all. */
const given = new WeakSet<Error>()

/** The error that a fallback threw, with the one it was to replace at the end of its chain of causes. */
export function withCause(thrown: unknown, original: unknown): unknown {
  const seen = new Set<unknown>([original])
  let end = thrown
  while (end instanceof Error && !seen.has(end) && end.cause !== undefined && !given.has(end)) {
    seen.add(end)
    end = end.cause
  }
  if (end instanceof Error && !seen.has(end)) {
    try {
      Object.defineProperty(end, 'cause', { value: original, configurable: true, writable: true })
      given.add(end)
    } catch {
      // A frozen error stays as it is.
    }
  }
  return thrown
}

import type { Session } from '../session/session.js'

/** A guarded function: a wrapped one with its own arguments, or one that gets the attempt. */
// oxlint-disable-next-line no-explicit-any -- the types are checked by the public signatures
export type GuardedFunction = (...args: any[]) => unknown

/** Options of one call. */
export interface CallOptions {
  /** Ends the call at once when aborted, with the signal's reason. */
  signal?: AbortSignal | undefined
  /** Passed to events, the fallback, the breaker's key function and the pool. */
  context?: unknown
}

/** Copies the options that an execution reads, because the caller can change its object during the call. */
export const copyCallOptions = (options: CallOptions | undefined): CallOptions | undefined =>
  options && { context: options.context, signal: options.signal }

/** The value of a call, and its session. */
export interface Executed<T> {
  /** The value that the call resolved to. */
  readonly value: T
  /** The record of the call with all its attempts. */
  readonly session: Session
}

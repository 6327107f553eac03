import type { CircuitBreaker } from '../breaker/breaker.js'
import type { Attempt, PooledAttempt } from '../execution/attempt.js'
import type { CallOptions } from '../execution/execution.js'
import type { PoolProtocol } from '../pool/protocol.js'
import type { FetchRetryOptions } from '../retry/options.js'
import type { GuardEvent } from './events.js'
import { GuardExecutor } from './guard-executor.js'
import { type GuardOptions, readGuard } from './options.js'

/** What one call may be given besides its function. */
export interface RunOptions extends CallOptions {
  /** Changes the guard's retrying for this call; what it leaves out stays. False: one attempt. */
  retry?: FetchRetryOptions | false | undefined
}

/** Runs calls under the policies it was made with. `A` is what its functions are told. */
export interface Guard<A extends Attempt = Attempt> {
  /** The name it was given. */
  readonly name: string | undefined
  /** Its breaker, where it has one for all its calls. */
  readonly breaker: CircuitBreaker | undefined
  /** Its breakers, where it has one per key. */
  readonly breakers: ReadonlyMap<string, CircuitBreaker> | undefined
  /**
   * Calls `fn` until it succeeds or the policies say stop, and then throws the last attempt's error as it came, unless a
   * fallback makes a value of it. A call that is refused before its first attempt throws CIRCUIT_OPEN, BULKHEAD_FULL,
   * POOL_UNAVAILABLE or NETWORK_DOWN. `fn` may be asynchronous, return a thenable or a plain value, or throw. Options
   * that are unknown or wrong reject with INVALID_OPTIONS, which lists all of them.
   */
  run<T>(fn: (attempt: A) => T | PromiseLike<T>, options?: RunOptions): Promise<T>
  /** A function that does the same as `fn` under the guard: same arguments, same `this`, same result as a promise. */
  wrap<This, Args extends unknown[], R>(
    fn: (this: This, ...args: Args) => R,
  ): (this: This, ...args: Args) => Promise<Awaited<R>>
  /** Tells `listener` what happens, until the function it returns is called. */
  on(listener: (event: GuardEvent) => void): () => void
}

/**
 * Makes a guard: one object that keeps calls to one unreliable thing alive. It retries by default (3 attempts,
 * exponential from 1 s) and has a breaker, deadlines or a fallback only where they are given.
 *
 * @throws INVALID_OPTIONS that lists everything wrong with the options
 *
 * @example
 * ```ts
 * import { guard } from 'holdfast'
 *
 * const calls: number[] = []
 * const api = guard({ name: 'api', retry: { backoffType: 'immediate' }, breaker: { failureThreshold: 5 } })
 * const answer = await api.run(async ({ number }) => {
 *   calls.push(number)
 *   if (number < 3) throw new Error('still waking up')
 *   return 'hello'
 * })
 * answer // => 'hello'
 * calls // => [1, 2, 3]
 * ```
 */
export function guard<M>(options: GuardOptions & { pool: PoolProtocol<M> }): Guard<PooledAttempt<M>>
export function guard(options?: GuardOptions): Guard
export function guard(options: GuardOptions = {}): Guard {
  return new GuardExecutor(readGuard(options))
}

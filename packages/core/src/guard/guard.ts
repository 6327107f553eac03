import type { Attempt, PooledAttempt } from '../attempt/attempt.js'
import type { CircuitBreaker } from '../breaker/breaker.js'
import type { CallOptions, Executed } from '../execution/call.js'
import type { MemberPool } from '../pool/members/member-pool.js'
import type { FetchRetryOptions } from '../retry/options.js'
import type { GuardEvent } from './events.js'
import { GuardExecutor } from './guard-executor.js'
import { type GuardOptions, parseGuardOptions, type TimeoutOptions } from './options.js'

/** Options of one call. */
export interface RunOptions extends CallOptions {
  /** Changes the guard's retry options for this call; options that are left out keep the guard's values. False: one attempt. */
  retry?: FetchRetryOptions | false | undefined
  /** Changes the guard's timeouts for this call; a timeout that is left out keeps the guard's value, Infinity removes it. False: no timeouts. */
  timeout?: TimeoutOptions | false | undefined
}

/** A function whose result is a promise, so that a guard without a fallback does not change its type. */
// oxlint-disable-next-line no-explicit-any -- the function can have any parameters
type AsyncFunction = (this: any, ...args: any[]) => Promise<unknown>

/** The result of a guarded function: a promise of the function's result or of the fallback's. */
type Guarded<R, F> = Promise<Awaited<R> | F>

/** One signature of an overloaded function under a guard; unknown where there is no such signature. */
type Signature<This, Args, R, F> = unknown extends R
  ? unknown
  : Args extends unknown[]
    ? (this: This, ...args: Args) => Guarded<R, F>
    : unknown

/** An overloaded function under a guard, with two to four signatures: TypeScript cannot infer more. */
type Overloaded<Fn, F> = Fn extends {
  (this: infer T1, ...args: infer A1): infer R1
  (this: infer T2, ...args: infer A2): infer R2
  (this: infer T3, ...args: infer A3): infer R3
  (this: infer T4, ...args: infer A4): infer R4
}
  ? Signature<T1, A1, R1, F> & Signature<T2, A2, R2, F> & Signature<T3, A3, R3, F> & Signature<T4, A4, R4, F>
  : Fn extends {
        (this: infer T1, ...args: infer A1): infer R1
        (this: infer T2, ...args: infer A2): infer R2
        (this: infer T3, ...args: infer A3): infer R3
      }
    ? Signature<T1, A1, R1, F> & Signature<T2, A2, R2, F> & Signature<T3, A3, R3, F>
    : Fn extends {
          (this: infer T1, ...args: infer A1): infer R1
          (this: infer T2, ...args: infer A2): infer R2
        }
      ? Signature<T1, A1, R1, F> & Signature<T2, A2, R2, F>
      : never

/** `unknown` for an overloaded function and `never` for a function with a single signature, so that overloads can be selected. */
type IfOverloaded<Fn> = Fn extends {
  (this: infer _T1, ...args: infer _A1): infer R1
  (this: infer _T2, ...args: infer _A2): unknown
}
  ? unknown extends R1
    ? never
    : unknown
  : never

/**
 * The type of an asynchronous function, kept where the wrapped function has the same type: the function has no properties of
 * its own and returns a plain promise, not a subclass, `never` or `any`.
 */
type Unchanged<Fn extends AsyncFunction> = [keyof Fn] extends [never]
  ? 0 extends 1 & ReturnType<Fn>
    ? Promised<Fn>
    : [ReturnType<Fn>] extends [never]
      ? Promised<Fn>
      : Promise<Awaited<ReturnType<Fn>>> extends ReturnType<Fn>
        ? Fn
        : Promised<Fn>
  : Promised<Fn>

type Promised<Fn extends AsyncFunction> = [IfOverloaded<Fn>] extends [never]
  ? (this: ThisParameterType<Fn>, ...args: Parameters<Fn>) => Promise<Awaited<ReturnType<Fn>>>
  : Overloaded<Fn, never>

/** `unknown` for a guard without a fallback, else `never`. */
type IfNoFallback<F> = [F] extends [never] ? unknown : never

/**
 * Runs calls under the options it was created with. `A` is the type of the attempt that functions get, `F` the result type of
 * the fallback, `never` if there is none. A variable for a guard with a fallback needs `F` in its type, or no type
 * annotation: `Guard` alone would accept the guard and hide the type of the fallback's result.
 */
export interface Guard<A extends Attempt = Attempt, F = never> {
  /** The guard's name. */
  readonly name: string | undefined
  /** The breaker, if there is one for all calls. */
  readonly breaker: CircuitBreaker | undefined
  /** The breakers by key, if there is one per key. */
  readonly breakers: ReadonlyMap<string, CircuitBreaker> | undefined
  /**
   * Calls `fn` until it succeeds or a strategy stops the call, and then rejects with the unchanged error of the last attempt,
   * unless a fallback returns a value. A call that is rejected before its first attempt rejects with CIRCUIT_OPEN,
   * BULKHEAD_FULL, POOL_UNAVAILABLE or NETWORK_DOWN. `fn` can be asynchronous, return a thenable or a plain value, or throw.
   * Unknown or invalid options reject with INVALID_OPTIONS, which lists all of them.
   */
  run<T>(fn: (attempt: A) => T | PromiseLike<T>, options?: RunOptions): Promise<T | F>
  /**
   * Calls `fn` as `run` does, and resolves to its value and the session of the call, even if the first attempt succeeded.
   * It rejects as `run` does.
   */
  execute<T>(fn: (attempt: A) => T | PromiseLike<T>, options?: RunOptions): Promise<Executed<T | F>>
  /**
   * Returns a function that runs `fn` under the guard, with the same arguments and `this`, and its result as a plain promise.
   * Without a fallback an asynchronous function keeps its type, overloads and type parameters included. The returned function
   * does not have the properties of `fn`.
   */
  wrap<Fn extends AsyncFunction>(fn: Fn & IfNoFallback<F>): Unchanged<Fn>
  /** The same for an overloaded function. Up to four signatures are kept. */
  // oxlint-disable-next-line no-explicit-any -- the function can have any parameters
  wrap<Fn extends (this: any, ...args: any[]) => unknown>(fn: Fn & IfOverloaded<Fn>): Overloaded<Fn, F>
  /** The same for any other function. */
  wrap<This, Args extends unknown[], R>(
    fn: (this: This, ...args: Args) => R,
  ): (this: This, ...args: Args) => Guarded<R, F>
  /** Calls `listener` with every event of the guard. Returns the function that removes the listener. */
  on(listener: (event: GuardEvent) => void): () => void
}

/**
 * Creates a guard, which runs calls to one unreliable dependency. It retries by default (3 attempts, exponential from 1 s)
 * and has a breaker, deadlines or a fallback only if the options contain them.
 *
 * @throws INVALID_OPTIONS that lists every problem of the options
 *
 * @example
 * ```ts
 * import { guard } from 'holdfast'
 *
 * const calls: number[] = []
 * const api = guard({ name: 'api', retry: { backoffType: 'immediate' }, breaker: { failureThreshold: 5 } })
 * const answer = await api.run(async ({ number }) => {
 *   calls.push(number)
 *   if (number < 3) throw new Error('still starting')
 *   return 'hello'
 * })
 * answer // => 'hello'
 * calls // => [1, 2, 3]
 * ```
 */
export function guard<M, F = never>(
  options: GuardOptions<F> & { pool: MemberPool<M> },
): Guard<PooledAttempt<M>, F>
export function guard<F = never>(options?: GuardOptions<F>): Guard<Attempt, F>
export function guard(options: GuardOptions<unknown> = {}): Guard<Attempt, unknown> {
  return new GuardExecutor(parseGuardOptions(options))
}

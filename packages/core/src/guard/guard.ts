import type { Attempt, PooledAttempt } from '../attempt/attempt.js'
import type { CircuitBreaker } from '../breaker/breaker.js'
import type { CallOptions } from '../execution/execution.js'
import type { MemberPool } from '../pool/members/member-pool.js'
import type { FetchRetryOptions } from '../retry/options.js'
import type { GuardEvent } from './events.js'
import { GuardExecutor } from './guard-executor.js'
import { type GuardOptions, parseGuardOptions } from './options.js'

/** What one call may be given besides its function. */
export interface RunOptions extends CallOptions {
  /** Changes the guard's retrying for this call; what it leaves out stays. False: one attempt. */
  retry?: FetchRetryOptions | false | undefined
}

/** A function whose result is a promise, so that a guard without a fallback does not change its type. */
// oxlint-disable-next-line no-explicit-any -- whatever the function takes
type AsyncFunction = (this: any, ...args: any[]) => Promise<unknown>

/** What a guard makes of a function's result: a promise of it or of what the fallback gives. */
type Guarded<R, F> = Promise<Awaited<R> | F>

/** One signature of an overloaded function under a guard; nothing where there was none to infer. */
type Signature<This, Args, R, F> = unknown extends R
  ? unknown
  : Args extends unknown[]
    ? (this: This, ...args: Args) => Guarded<R, F>
    : unknown

/** An overloaded function under a guard: two to four signatures, of which TypeScript can tell no more. */
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

/** Nothing for a function of several signatures, so that it can be told from one of a single signature. */
type IfOverloaded<Fn> = Fn extends {
  (this: infer _T1, ...args: infer _A1): infer R1
  (this: infer _T2, ...args: infer _A2): unknown
}
  ? unknown extends R1
    ? never
    : unknown
  : never

/**
 * The type of an asynchronous function, kept where it holds for the wrapped function too: the function has no properties of
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

/** Nothing for a guard without a fallback. */
type IfNoFallback<F> = [F] extends [never] ? unknown : never

/**
 * Runs calls under the policies it was made with. `A` is what its functions are told, `F` what its fallback gives: `never`
 * where it has none. A variable for a guard with a fallback needs `F` in its type, or no type: `Guard` alone would accept the
 * guard and hide what the fallback returns.
 */
export interface Guard<A extends Attempt = Attempt, F = never> {
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
  run<T>(fn: (attempt: A) => T | PromiseLike<T>, options?: RunOptions): Promise<T | F>
  /**
   * A function that does the same as `fn` under the guard: same arguments, same `this`, same result as a plain promise.
   * Without a fallback an asynchronous function keeps its type, overloads and type parameters included. It does not have
   * the properties of `fn`.
   */
  wrap<Fn extends AsyncFunction>(fn: Fn & IfNoFallback<F>): Unchanged<Fn>
  /** The same for an overloaded function, of which up to four signatures are kept. */
  // oxlint-disable-next-line no-explicit-any -- whatever the function takes
  wrap<Fn extends (this: any, ...args: any[]) => unknown>(fn: Fn & IfOverloaded<Fn>): Overloaded<Fn, F>
  /** The same for any other function. */
  wrap<This, Args extends unknown[], R>(
    fn: (this: This, ...args: Args) => R,
  ): (this: This, ...args: Args) => Guarded<R, F>
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
export function guard<M, F = never>(
  options: GuardOptions<F> & { pool: MemberPool<M> },
): Guard<PooledAttempt<M>, F>
export function guard<F = never>(options?: GuardOptions<F>): Guard<Attempt, F>
export function guard(options: GuardOptions<unknown> = {}): Guard<Attempt, unknown> {
  return new GuardExecutor(parseGuardOptions(options))
}

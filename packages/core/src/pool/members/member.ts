import type { BreakerOptions } from '../../breaker/options.js'

/** One of several targets that can do the same thing: a proxy, an endpoint, a provider. */
export interface Member<T = unknown> {
  /** What it is called; unique in its pool. */
  readonly id: string
  /** What a call needs to reach it. */
  readonly value: T
  /** How often it is chosen beside others, by `weighted`. @defaultValue 1 */
  readonly weight?: number | undefined
  /** Where it is, for `region`. */
  readonly region?: string | undefined
  /** What it costs, for `cost`: cheaper ones are chosen first. @defaultValue 0 */
  readonly cost?: number | undefined
  /** Words to find it by. */
  readonly tags?: readonly string[] | undefined
  /** Anything else about it. */
  readonly metadata?: object | undefined
  /** Breaker settings of its own, over the pool's. */
  readonly breaker?: BreakerOptions | undefined
}

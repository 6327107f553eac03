import type { BreakerOptions } from '../../breaker/options.js'

/** One of several interchangeable targets: a proxy, an endpoint, a provider. */
export interface Member<T = unknown> {
  /** The name of the member, unique in its pool. */
  readonly id: string
  /** The value that a call needs to reach the member, such as a URL. */
  readonly value: T
  /** The relative frequency with which the strategy `weighted` selects the member. @defaultValue 1 */
  readonly weight?: number | undefined
  /** The location of the member, for the strategies `region` and `sticky`. */
  readonly region?: string | undefined
  /** The cost of the member, for the strategy `cost`, which selects the cheapest first. @defaultValue 0 */
  readonly cost?: number | undefined
  /** Labels for searching; the pool does not read them. */
  readonly tags?: readonly string[] | undefined
  /** Further data about the member; the pool does not read it. */
  readonly metadata?: object | undefined
  /** Breaker options of this member, which override those of the pool. */
  readonly breaker?: BreakerOptions | undefined
}

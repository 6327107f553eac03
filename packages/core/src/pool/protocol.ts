import type { Verdict } from '../breaker/permit.js'
import type { Classification } from '../classify/index.js'
import type { HoldfastError } from '../errors.js'
import type { Member } from './member.js'

/** A member chosen for one attempt, let through by its breaker. */
export interface Pick<T = unknown> {
  readonly member: Member<T>
}

/** How an attempt ended, as far as its member is concerned. */
export interface PickOutcome {
  /** Whether the function threw, and what it threw or returned. */
  readonly threw: boolean
  readonly result: unknown
  /** What that was taken for; undefined for a plain success. */
  readonly known: Classification | undefined
  /** What a breaker would make of it; undefined says nothing (aborted, permanent). */
  readonly verdict: Verdict
  /** How long the attempt took, in milliseconds. */
  readonly duration: number
  /** When it ended, where that was not just now: a deadline ends it when due. Monotonic. */
  readonly at?: number | undefined
}

/** What the engine asks of a pool. `picks` are all the picks of one call so far, in order. */
export interface PoolProtocol<T = unknown> {
  /**
   * Chooses a member that none of `picks` went to, while there are such, and lets the call through its breaker, whose test
   * may hold its place as long as `lease`. Undefined where nobody is available, or where the network is down.
   */
  take(context: unknown, picks: readonly Pick<T>[], lease: number | undefined): Pick<T> | undefined
  /** Whether somebody is available that none of `picks` went to. */
  hasOther(picks: readonly Pick<T>[]): boolean
  /**
   * Takes the outcome of `pick`. Tells whether it speaks of the member rather than of the request (a refused proxy, a
   * banned address): such a call fails over to another member though its error would not be retried otherwise.
   */
  settle(pick: Pick<T>, outcome: PickOutcome, picks: readonly Pick<T>[]): boolean
  /** The error for a call that finds nobody: POOL_UNAVAILABLE (status 503, earliest retryAfter) or NETWORK_DOWN. */
  refusal(): HoldfastError
}

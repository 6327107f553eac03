import type { BreakerOutcome } from '../../breaker/permit.js'
import type { Classification } from '../../classify/index.js'
import type { HoldfastError } from '../../errors.js'
import type { Member } from './member.js'

/** A member chosen for one attempt, let through by its breaker. */
export interface Selection<T = unknown> {
  readonly member: Member<T>
}

/** How an attempt ended, as far as its member is concerned. */
export interface SelectionOutcome {
  /** Whether the function threw, and what it threw or returned. */
  readonly hasThrown: boolean
  readonly result: unknown
  /** What that was taken for; undefined for a plain success. */
  readonly classification: Classification | undefined
  /** What a breaker would make of it; undefined says nothing (aborted, permanent). */
  readonly breakerOutcome: BreakerOutcome
  /** How long the attempt took, in milliseconds. */
  readonly duration: number
  /** When it ended, where that was not just now: a deadline ends it when due. Monotonic. */
  readonly endedAt?: number | undefined
}

/** What the engine asks of a pool. `selections` are all the picks of one call so far, in order. */
export interface MemberPool<T = unknown> {
  /**
   * Chooses a member that none of `selections` went to, while there are such, and lets the call through its breaker, whose test
   * may hold its place as long as `lease`. Undefined where nobody is available, or where the network is down.
   */
  select(
    context: unknown,
    selections: readonly Selection<T>[],
    lease: number | undefined,
  ): Selection<T> | undefined
  /** Whether somebody is available that none of `selections` went to. */
  hasUntriedMember(selections: readonly Selection<T>[]): boolean
  /**
   * Takes the outcome of `selection`. Tells whether it speaks of the member rather than of the request (a refused proxy, a
   * banned address): such a call fails over to another member though its error would not be retried otherwise.
   */
  recordOutcome(
    selection: Selection<T>,
    outcome: SelectionOutcome,
    selections: readonly Selection<T>[],
  ): boolean
  /** The error for a call that finds nobody: POOL_UNAVAILABLE (status 503, earliest retryAfter) or NETWORK_DOWN. */
  createUnavailableError(): HoldfastError
}

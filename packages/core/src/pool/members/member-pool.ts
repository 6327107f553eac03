import type { BreakerOutcome } from '../../breaker/permit.js'
import type { Classification } from '../../classify/index.js'
import type { HoldfastError } from '../../errors.js'
import type { Member } from './member.js'

/** A member that was selected for one attempt and whose breaker has admitted it. */
export interface Selection<T = unknown> {
  readonly member: Member<T>
}

/** How an attempt ended, as far as its member is concerned. */
export interface SelectionOutcome {
  /** Whether the function threw. `result` is the error then, and the returned value otherwise. */
  readonly hasThrown: boolean
  readonly result: unknown
  /** The classification of the result; undefined for a plain success. */
  readonly classification: Classification | undefined
  /** The outcome for a breaker; undefined when it must not count (aborted, permanent error). */
  readonly breakerOutcome: BreakerOutcome
  /** The duration of the attempt in milliseconds. */
  readonly duration: number
  /** The monotonic time at which the attempt ended, when that is not now: a deadline ends it at the time it was due. */
  readonly endedAt?: number | undefined
}

/** What an execution requires of a pool. `selections` are all selections of one call so far, in order. */
export interface MemberPool<T = unknown> {
  /**
   * Selects a member that is not in `selections`, or any member when all available ones are, and acquires a permit from its
   * breaker. A probe holds its permit for up to `lease` milliseconds. Returns undefined when no member is available or the
   * network is down.
   */
  select(
    context: unknown,
    selections: readonly Selection<T>[],
    lease: number | undefined,
  ): Selection<T> | undefined
  /** Whether a member is available that is not in `selections`. */
  hasUntriedMember(selections: readonly Selection<T>[]): boolean
  /**
   * Records the outcome of `selection`. Returns whether the member rather than the request caused it (a proxy that rejects
   * the credentials, a banned address): such a call fails over to another member even if its error is not retryable.
   */
  recordOutcome(
    selection: Selection<T>,
    outcome: SelectionOutcome,
    selections: readonly Selection<T>[],
  ): boolean
  /** The error of a call for which no member is available: POOL_UNAVAILABLE (503, earliest retryAfter) or NETWORK_DOWN. */
  createUnavailableError(): HoldfastError
}

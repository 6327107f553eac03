import type { AttemptRun } from '../attempt/attempt.js'
import type { Classification } from '../classify/index.js'
import type { Clock } from '../clock.js'
import type { MemberPool, Selection } from '../pool/members/member-pool.js'
import { breakerOutcome } from './outcome.js'

/** The selections of one call: the pool members that its attempts were sent to. */
export class MemberSelection {
  private readonly pool: MemberPool
  private readonly clock: Clock
  private readonly context: unknown
  private readonly lease: number | undefined
  private readonly selections: Selection[] = []

  constructor(pool: MemberPool, clock: Clock, context: unknown, lease: number | undefined) {
    this.pool = pool
    this.clock = clock
    this.context = context
    this.lease = lease
  }

  /** Selects a member for the next call, an untried one where possible; undefined where none is available. */
  select(): Selection | undefined {
    const selection = this.pool.select(this.context, this.selections, this.lease)
    if (selection !== undefined) this.selections.push(selection)
    return selection
  }

  /** Whether a member is available that this execution has not been sent to. */
  hasUntriedMember(): boolean {
    return this.pool.hasUntriedMember(this.selections)
  }

  /** Records the outcome of the member once. Returns whether the member caused the failure, so that another member can succeed. */
  recordOutcome(
    run: AttemptRun,
    hasThrown: boolean,
    result: unknown,
    classification: Classification | undefined,
    attemptEndedAt: number | undefined,
  ): boolean {
    const { selection, startedAt } = run
    if (selection === undefined) return false
    if (run.isMemberFault === undefined) {
      const outcome = breakerOutcome(undefined, hasThrown, result, classification)
      const duration = this.clock.now() - startedAt
      // An attempt that ended at its deadline is never late. Its time is not passed on, because the pool can have another clock.
      const endedAt = attemptEndedAt === undefined ? undefined : -Infinity
      run.isMemberFault = this.pool.recordOutcome(
        selection,
        { hasThrown, result, classification, breakerOutcome: outcome, duration, endedAt },
        this.selections,
      )
    }
    return run.isMemberFault
  }
}

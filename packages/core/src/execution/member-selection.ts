import type { Classification } from '../classify/index.js'
import type { GuardSettings } from '../guard/options.js'
import type { Pick, PoolProtocol } from '../pool/protocol.js'
import type { AttemptRun } from './attempt.js'
import { breakerOutcome } from './outcome.js'

/** The pool members that one execution was sent to. */
export class MemberSelection {
  private readonly pool: PoolProtocol
  private readonly settings: GuardSettings
  private readonly context: unknown
  private readonly lease: number | undefined
  private readonly selections: Pick[] = []

  constructor(pool: PoolProtocol, settings: GuardSettings, context: unknown, lease: number | undefined) {
    this.pool = pool
    this.settings = settings
    this.context = context
    this.lease = lease
  }

  /** Selects a member for another call, an untried one where there is one; undefined where none is available. */
  select(): Pick | undefined {
    const selection = this.pool.take(this.context, this.selections, this.lease)
    if (selection !== undefined) this.selections.push(selection)
    return selection
  }

  /** Whether a member is available that this execution has not been sent to. */
  hasUntriedMember(): boolean {
    return this.pool.hasOther(this.selections)
  }

  /** Records the outcome for the member, once; returns whether it was the member's fault, so that another may succeed. */
  recordOutcome(
    run: AttemptRun,
    threw: boolean,
    result: unknown,
    known: Classification | undefined,
    at: number | undefined,
  ): boolean {
    const { selection, startedAt } = run
    if (selection === undefined) return false
    if (run.isMemberFault === undefined) {
      const verdict = breakerOutcome(undefined, threw, result, known)
      const duration = this.settings.clock.now() - startedAt
      // An attempt that a deadline ended was in time by any clock.
      const endedAt = at === undefined ? undefined : Number.NEGATIVE_INFINITY
      run.isMemberFault = this.pool.settle(
        selection,
        { threw, result, known, verdict, duration, at: endedAt },
        this.selections,
      )
    }
    return run.isMemberFault
  }
}

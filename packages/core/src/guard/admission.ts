import type { CircuitBreaker } from '../breaker/breaker.js'
import type { Pass } from '../breaker/permit.js'
import type { Classification } from '../classify/index.js'
import type { HoldfastError } from '../errors.js'
import type { Pick } from '../pool/protocol.js'
import type { GuardCore } from './core.js'
import { Journal, type Leg } from './journal.js'
import { verdictOf } from './verdict.js'

/**
 * What lets a call's attempts through and hears how they ended: the breaker, and the pool that has a member for each. The
 * call is its own pass, so that asking for leave makes no object.
 */
export abstract class Admission extends Journal implements Pass {
  private readonly breaker: CircuitBreaker | undefined
  /** Its pass through the breaker: itself, unless the breaker goes by a clock on which its own times mean nothing. */
  protected readonly pass: Pass
  epoch = 0
  leaseEnd = 0
  // What few calls need is declared and not set: it makes the others no larger.
  declare pick: Pick | undefined
  declare elsewhere: boolean | undefined
  /** All the members it went to. */
  declare protected picks: Pick[] | undefined

  constructor(guard: GuardCore, context: unknown) {
    super(guard, context)
    const { keyed, breaker } = guard.settings
    this.breaker = keyed === undefined ? breaker : keyed.forContext(context)
    this.pass = guard.foreign ? { epoch: 0, startedAt: 0, leaseEnd: 0 } : this
  }

  /** Asks the breaker. The error where it refuses. */
  protected admit(now: number): HoldfastError | undefined {
    const { breaker, guard, pass } = this
    const admitted =
      breaker === undefined || breaker.admits(pass, guard.lease, guard.foreign ? undefined : now)
    return admitted ? undefined : breaker.refusal()
  }

  /** Tells the breaker how an attempt ended. */
  protected judge(
    threw: boolean,
    result: unknown,
    known: Classification | undefined,
    at: number | undefined,
  ): void {
    const { breaker, pass, guard } = this
    if (breaker !== undefined)
      breaker.settle(pass, verdictOf(breaker, threw, result, known), guard.foreign ? undefined : at)
  }

  /** Tells the breaker that the attempt says nothing. */
  protected excuse(): void {
    this.breaker?.settle(this.pass, undefined)
  }

  /** Whether the breaker opened meanwhile. */
  protected halted(): boolean {
    return this.breaker?.phase === 'open'
  }

  /** Whether the breaker has nothing against a call besides the one that it let through. */
  get unhindered(): boolean {
    return (this.breaker?.phase ?? 'closed') === 'closed'
  }

  /** A member for another leg; undefined where there is none. */
  choose(): Pick | undefined {
    const { guard, context } = this
    this.picks ??= []
    const pick = guard.settings.pool?.take(context, this.picks, guard.lease)
    if (pick !== undefined) this.picks.push(pick)
    return pick
  }

  /** Tells the pool how its member did. True where the outcome spoke of the member, so that another may do better. */
  credit(
    leg: Leg,
    threw: boolean,
    result: unknown,
    known: Classification | undefined,
    at: number | undefined,
  ): boolean {
    const { pool, clock } = this.guard.settings
    const { pick, startedAt } = leg
    if (pool === undefined || pick === undefined) return false
    if (leg.elsewhere === undefined) {
      const verdict = verdictOf(undefined, threw, result, known)
      const duration = clock.now() - startedAt
      // One that a deadline ended was in time, by whatever clock.
      const inTime = at === undefined ? undefined : Number.NEGATIVE_INFINITY
      leg.elsewhere = pool.settle(
        pick,
        { threw, result, known, verdict, duration, at: inTime },
        this.picks ?? [],
      )
    }
    return leg.elsewhere
  }
}

import type { CircuitBreaker, Classification, HoldfastError, Random, StopReason } from 'holdfast'
import { breakerOutcome, createCheapError, isRetryable, nextDelay, type PermitState } from 'holdfast/internal'
import type { Line, LineRules } from './line.js'

/** What a policy that only looks on would have done with a call. */
export interface Foresight {
  readonly policyId: string
  /** The number of the attempt that it would have decided over. */
  readonly attempt: number
  readonly maxAttempts: number
  /** The wait before the next attempt, or why there would have been none. */
  readonly next: number | StopReason
  /** What the attempt would have failed with. */
  readonly error: unknown
  /** Whether that is what it did fail with: else the policy would have refused it or cut it off. */
  readonly happened: boolean
}

/** How an attempt ended. */
interface Outcome {
  readonly threw: boolean
  readonly result: unknown
  readonly known: Classification | undefined
  /** What decides over it. */
  readonly rules: LineRules
}

/**
 * Follows one call for the policies of its line that only look on: their breakers, budgets, bulkheads and deadlines see what
 * happens, and nothing that they would have done is done.
 */
export class Onlooker {
  private readonly line: Line
  private readonly random: Random
  private readonly passes = new Map<CircuitBreaker, PermitState>()
  private begunAt = 0
  private startedAt = 0
  private number = 0
  /** Whether by them the call would have ended. */
  private over = false
  /** Gives up its place in the bulkhead. */
  private leave: (() => void) | undefined = undefined

  constructor(line: Line, random: Random) {
    this.line = line
    this.random = random
  }

  /** An attempt begins. Tells whether it would have been refused, and why. */
  begins(now: number): Foresight | undefined {
    if (this.over) return undefined
    const { base, shadows, core } = this.line
    this.startedAt = now
    if (++this.number === 1) {
      this.begunAt = now
      if (base.shadow?.bulkhead !== undefined && !this.join()) {
        const { name = 'a call' } = core.settings
        const full = createCheapError('BULKHEAD_FULL', `${name} has no room to run or wait`, {})
        return this.refuse(base, full, 'bulkhead_full')
      }
      base.shadow?.budget?.deposit()
    }
    for (const rules of shadows) {
      const { gate, attemptTimeout = Infinity } = rules.shadow ?? {}
      if (gate === undefined || this.passes.has(gate)) continue
      const pass: PermitState = { epoch: 0, startedAt: 0, leaseEnd: 0 }
      const lease = attemptTimeout < Infinity ? attemptTimeout : undefined
      if (!gate.tryAcquire(pass, lease, now))
        return this.refuse(rules, gate.createOpenError(), 'circuit_open')
      this.passes.set(gate, pass)
    }
    return undefined
  }

  /** The attempt ended. Tells what would have followed, where one of the policies would have decided it. */
  ends(outcome: Outcome, now: number): Foresight | undefined {
    if (this.over) return undefined
    const cut = this.cutOff(now)
    const { threw, result, known, rules } = cut?.outcome ?? outcome
    for (const [gate, pass] of this.passes) {
      const verdict = breakerOutcome(gate, threw, result, known)
      gate.release(pass, verdict === 'failure' && gate !== rules.shadow?.gate ? undefined : verdict, cut?.at)
    }
    this.passes.clear()
    if (known === undefined || (rules.shadow === undefined && cut === undefined)) return undefined
    const next = cut?.total ? 'deadline' : this.next(threw, result, known, rules, cut?.at ?? now)
    this.over = typeof next === 'string'
    const { record } = cut === undefined ? rules : this.line.base
    return {
      policyId: record.id,
      attempt: this.number,
      maxAttempts: (rules.shadow?.policy ?? rules.policy).maxAttempts,
      next,
      error: result,
      happened: cut === undefined,
    }
  }

  /** The attempt was called off: it says nothing. */
  excused(): void {
    for (const [gate, pass] of this.passes) gate.release(pass, undefined)
    this.passes.clear()
  }

  /** The call ended. */
  left(): void {
    this.excused() // where it was refused by somebody else
    this.leave?.()
    this.leave = undefined
  }

  private join(): boolean {
    const bulkhead = this.line.base.shadow?.bulkhead
    if (bulkhead === undefined) return true
    const enter = () => {
      this.leave = () => bulkhead.releaseSlot()
    }
    this.leave = () => bulkhead.cancelWait(enter)
    const joined = bulkhead.acquireSlot(enter)
    if (!joined) this.leave = undefined
    return joined
  }

  private refuse({ record }: LineRules, error: HoldfastError, next: StopReason): Foresight {
    this.over = true
    this.excused()
    return {
      policyId: record.id,
      attempt: this.number,
      maxAttempts: record.maxAttempts,
      next,
      error,
      happened: false,
    }
  }

  /** How the first attempt would have ended at a deadline, and when, where it has passed one. */
  private cutOff(now: number): { outcome: Outcome; at: number; total: boolean } | undefined {
    const { base, core, rules, rest } = this.line
    const { attemptTimeout = Infinity, totalTimeout = Infinity } = base.shadow ?? {}
    const limit = Math.min(attemptTimeout, totalTimeout)
    if (this.number !== 1 || now - this.startedAt <= limit) return undefined
    const { name = 'a call' } = core.settings
    const total = totalTimeout <= attemptTimeout
    const error = total
      ? createCheapError('TOTAL_TIMEOUT', `${name} took over ${totalTimeout} ms in all`, {})
      : createCheapError('ATTEMPT_TIMEOUT', `attempt 1 of ${name} took over ${attemptTimeout} ms`, {})
    const known = core.classify(error, true)
    const outcome = { threw: true, result: error, known, rules: rules.get(known.kind) ?? rest }
    return { outcome, at: this.startedAt + limit, total }
  }

  private next(
    threw: boolean,
    error: unknown,
    known: Classification,
    rules: LineRules,
    at: number,
  ): number | StopReason {
    const { policy, totalTimeout } = rules.shadow ?? rules
    if (threw && !isRetryable(policy, error, known, this.number)) return 'not_retryable'
    const left = this.begunAt + totalTimeout - at
    const wait = nextDelay(policy, this.number, error, known.retryAfter, 0, left, this.random)
    if (typeof wait === 'string') return wait
    if (this.line.shadows.some(({ shadow }) => shadow?.gate?.currentState === 'open')) return 'circuit_open'
    const budget = this.line.base.shadow?.budget
    return budget === undefined || budget.withdraw() ? wait : 'budget_spent'
  }
}

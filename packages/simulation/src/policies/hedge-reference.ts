import type { BudgetModel } from './budget-model.js'
import type { ContractPolicy } from './contract-policies.js'

/** The states over time of a breaker that only an operator opens and closes. */
export class BreakerTimes {
  private readonly periods: { readonly from: number; to: number }[] = []

  get isOpen(): boolean {
    return this.periods.at(-1)?.to === Infinity
  }

  onOpened(now: number): void {
    if (!this.isOpen) this.periods.push({ from: now, to: Infinity })
  }

  onClosed(now: number): void {
    const last = this.periods.at(-1)
    if (last !== undefined) last.to = Math.min(last.to, now)
  }

  /** Whether the breaker was open at a time, or has changed within the tolerance. */
  wasOpen(at: number, toleranceMs: number): boolean {
    return this.periods.some(({ from, to }) => from <= at + toleranceMs && to >= at - toleranceMs)
  }
}

/** What the runs of a hedged attempt need besides time. */
export interface HedgeLimits {
  readonly budget: BudgetModel | undefined
  readonly breaker: BreakerTimes | undefined
}

/**
 * When the additional runs of a hedged attempt must begin: after each delay without a result and at once after a failure. A run begins
 * only while the breaker is closed, and takes one retry of the budget; otherwise it is tried again after the next delay.
 */
export class HedgeReference {
  private left = 0
  private nextAt = Infinity
  private delay = Infinity
  private readonly limits: HedgeLimits

  constructor(limits: HedgeLimits) {
    this.limits = limits
  }

  /** The first run of an attempt begins. */
  begin(hedge: ContractPolicy['hedge'], now: number): void {
    this.left = hedge?.max ?? 0
    this.delay = hedge?.delay ?? Infinity
    this.nextAt = now + this.delay
  }

  /** Another run begins. Returns when it should have begun, and the problem if it may not begin at all. */
  start(now: number, toleranceMs: number): { readonly expectedAt: number; readonly problem?: string } {
    this.skipBlocked(now, toleranceMs)
    const expectedAt = this.nextAt
    if (Math.abs(now - expectedAt) > toleranceMs && this.left > 0) return { expectedAt }
    if (this.left === 0) return { expectedAt, problem: 'began one hedge too many' }
    if (this.limits.breaker?.isOpen)
      return { expectedAt, problem: 'began a hedge while its breaker was open' }
    if (this.limits.budget?.withdraw(now) === false)
      return { expectedAt, problem: 'began a hedge, and its budget had no retry left' }
    this.left--
    this.nextAt = this.left > 0 ? now + this.delay : Infinity
    return { expectedAt }
  }

  /** A run has failed, and others can follow. Returns whether the next one begins at once. */
  onRunFailed(now: number): boolean {
    if (this.left === 0) return false
    const isBlocked = this.limits.breaker?.isOpen === true || this.isBudgetSpent(now)
    this.nextAt = isBlocked ? now + this.delay : now
    return !isBlocked
  }

  /** No further run begins in this attempt. */
  stop(): void {
    this.left = 0
    this.nextAt = Infinity
  }

  /** How long ago a run should have begun; undefined if none should. */
  overdue(now: number, toleranceMs: number): number | undefined {
    this.skipBlocked(now, toleranceMs)
    return this.nextAt < now - toleranceMs ? now - this.nextAt : undefined
  }

  /** Runs that could not begin are tried again after the delay. */
  private skipBlocked(now: number, toleranceMs: number): void {
    // A budget of a hedged policy gets no retries while its calls run, so that one that is spent was spent before.
    while (
      this.nextAt < now - toleranceMs &&
      (this.isBudgetSpent(now) || this.limits.breaker?.wasOpen(this.nextAt, toleranceMs))
    )
      this.nextAt += this.delay
  }

  private isBudgetSpent(now: number): boolean {
    return this.limits.budget?.isSpent(now) === true
  }
}

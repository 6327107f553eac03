import type { ContractPolicy } from './contract-policies.js'

/** The window of a budget has this many parts. What happened in a part leaves the window at once. */
const PART_COUNT = 100

/** Tolerates the rounding of sums. */
const ROUNDING = 1e-6

/** A retry budget as lists of calls and retries. */
export class BudgetModel {
  private readonly settings: NonNullable<ContractPolicy['budget']>
  private calls: number[] = []
  private retries: number[] = []

  constructor(settings: NonNullable<ContractPolicy['budget']>) {
    this.settings = settings
  }

  countCall(now: number): void {
    this.calls.push(this.partOf(now))
  }

  /** The retries that are left. */
  left(now: number): number {
    const { ratio, reservePerSecond, window } = this.settings
    const isInWindow = (part: number) => part > this.partOf(now) - PART_COUNT
    this.calls = this.calls.filter(isInWindow)
    this.retries = this.retries.filter(isInWindow)
    return ratio * this.calls.length + (reservePerSecond * window) / 1000 - this.retries.length
  }

  isSpent(now: number): boolean {
    return this.left(now) < 1 - ROUNDING
  }

  /** Withdraws a retry, or returns false if none is left. */
  withdraw(now: number): boolean {
    if (this.isSpent(now)) return false
    this.retries.push(this.partOf(now))
    return true
  }

  /** Returns a retry that was not made. It is taken from the oldest part that has one. */
  refund(now: number): void {
    this.retries = this.retries.filter((part) => part > this.partOf(now) - PART_COUNT)
    this.retries.shift()
  }

  private partOf(now: number): number {
    return Math.floor((now / this.settings.window) * PART_COUNT)
  }
}

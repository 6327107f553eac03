import { type Clock, RetryBudget, type RetryBudgetOptions } from 'holdfast'
import { BORROW } from './scripts.js'
import type { Wire } from './wire.js'

/** The fewest and the most retries that are borrowed at a time. */
const FEWEST = 5
const MOST = 100

/** So many calls are reported without a retry being asked for. */
const MANY = 1000

/**
 * A retry budget that a fleet shares. Retries are borrowed in slices and taken from the slice at hand, so that no call
 * waits for Redis. While the next slice is on its way at most one more slice is taken on credit. Where Redis is lost, the
 * node goes by a budget of its own with the same figures.
 */
export class SharedBudget extends RetryBudget {
  /** Retries at hand; below 0 where some were taken on credit. */
  private slice = 0
  /** Whether the fleet has lately had nothing left. */
  private spent = false
  private spentAt = 0
  private borrowing = false
  /** Calls that the fleet has not been told of. */
  private unreported = 0
  private borrowedAt = 0
  private readonly key: string
  private readonly wire: Wire
  private readonly clock: Clock
  private readonly terms: readonly [ratio: number, reservePerSecond: number, window: number]

  constructor(id: string, wire: Wire, options: RetryBudgetOptions & { window: number; clock: Clock }) {
    super(options)
    const { ratio = 0.2, reservePerSecond = 10, window, clock } = options
    this.key = `holdfast:{budget:${id}}:window`
    this.wire = wire
    this.clock = clock
    this.terms = [ratio, reservePerSecond, window]
    void this.borrow()
  }

  override deposit(): void {
    super.deposit()
    if (++this.unreported >= MANY) void this.borrow()
  }

  override withdraw(): boolean {
    if (!this.wire.up) return super.withdraw()
    const now = this.clock.now()
    const [, , window] = this.terms
    // What was borrowed in a window that has passed is not owed any more.
    if (now - this.borrowedAt > window) this.slice = Math.min(this.slice, 0)
    // The fleet is asked again ten times in a window.
    if (this.slice < this.size / 2 && (!this.spent || now - this.spentAt > window / 10)) void this.borrow()
    if (this.slice <= 0 && (this.spent || this.slice <= -this.size)) return false
    this.slice--
    return true
  }

  /** A tenth of what the reserve alone gives in a window. */
  private get size(): number {
    const [, reservePerSecond, window] = this.terms
    return Math.min(MOST, Math.max(FEWEST, Math.round((reservePerSecond * window) / 10_000)))
  }

  /** Reports calls and borrows a slice. */
  async borrow(): Promise<void> {
    if (this.borrowing || !this.wire.up) return
    this.borrowing = true
    const calls = this.unreported
    const want = Math.max(0, this.size - this.slice)
    this.unreported = 0
    try {
      const lent = Number(await this.wire.run(BORROW, [this.key], [calls, want, ...this.terms]))
      this.slice += lent
      this.borrowedAt = this.clock.now()
      this.spent = lent < want
      this.spentAt = this.borrowedAt
    } catch {
      this.unreported += calls
    } finally {
      this.borrowing = false
    }
    // Calls may have been made meanwhile.
    if (this.unreported >= MANY) void this.borrow()
  }
}

import { type Clock, RetryBudget, type RetryBudgetOptions } from 'holdfast'
import { runOutsideContext } from 'holdfast/internal'
import { BORROW } from './fleet-scripts.js'
import { parseLoan } from './replies.js'
import type { Wire } from './wire.js'

/** The fewest and the most retries that are borrowed at a time. */
const FEWEST = 5
const MOST = 100

/** So many calls are reported without a retry being asked for. */
const MANY = 1000

/** So often in a window a fleet that had nothing left, or did not answer, is asked again. */
const AGAIN = 10

/**
 * A retry budget that a fleet shares. Retries are borrowed in slices and taken from the slice at hand, so that no call
 * waits for Redis. While the next slice is on its way at most one more slice is taken on credit. Where Redis is lost, or
 * does not lend, the node goes by a budget of its own with the same figures.
 */
export class SharedBudget extends RetryBudget {
  /** Retries at hand; below 0 where some were taken on credit. */
  private slice = 0
  /** What the fleet had left besides. */
  private rest = 0
  /** Whether the fleet has lately had nothing left. */
  private spent = false
  /** Whether Redis is there and does not lend. */
  private refused = false
  private borrowing = false
  /** Calls that the fleet has not been told of. */
  private unreported = 0
  /** When the fleet was last asked, and when it was last told of calls and lent something. */
  private askedAt: number
  private lentAt: number
  private readonly key: string
  private readonly wire: Wire
  private readonly clock: Clock
  private readonly terms: readonly [ratio: number, reservePerSecond: number, window: number]

  private readonly onInvalidReply: (problem: string) => void

  constructor(
    id: string,
    wire: Wire,
    options: RetryBudgetOptions & { window: number; clock: Clock },
    onInvalidReply: (problem: string) => void = () => {},
  ) {
    super(options)
    this.onInvalidReply = onInvalidReply
    const { ratio = 0.2, reservePerSecond = 10, window, clock } = options
    this.key = `holdfast:{budget:${id}}:window`
    this.wire = wire
    this.clock = clock
    this.askedAt = this.lentAt = clock.now()
    this.terms = [ratio, reservePerSecond, window]
    void this.borrow()
  }

  /** What is at hand and what the fleet had left when it was last asked. */
  override get left(): number {
    return this.alone ? super.left : this.slice + this.rest
  }

  override deposit(): void {
    super.deposit()
    if (++this.unreported % MANY === 0) void this.borrow()
  }

  override withdraw(): boolean {
    const now = this.clock.now()
    const [, , window] = this.terms
    const again = !(this.spent || this.refused) || now - this.askedAt > window / AGAIN
    if (this.slice < this.size / 2 && again) void this.borrow()
    if (this.alone) return super.withdraw()
    // What was borrowed in a window that has passed is not at hand any more; what is owed stays owed.
    if (now - this.lentAt > window) this.slice = Math.min(this.slice, 0)
    if (this.slice <= 0 && (this.spent || this.slice <= -this.size)) return false
    this.slice--
    return true
  }

  private get alone(): boolean {
    return !this.wire.up || this.refused
  }

  /** A tenth of what the reserve alone gives in a window. */
  private get size(): number {
    const [, reservePerSecond, window] = this.terms
    return Math.min(MOST, Math.max(FEWEST, Math.round((reservePerSecond * window) / 10_000)))
  }

  /** Reports calls and borrows a slice, for all callers and in the async context of none. */
  async borrow(): Promise<void> {
    if (this.borrowing || !this.wire.up) return
    this.borrowing = true
    await runOutsideContext(() => this.exchange())
  }

  private async exchange(): Promise<void> {
    const [, , window] = this.terms
    const calls = this.unreported
    const want = Math.max(0, this.size - this.slice)
    // Of calls that were made over more than a window, those of the last window count.
    const lately = Math.round(calls * Math.min(1, window / (this.clock.now() - this.lentAt)))
    this.unreported = 0
    try {
      const parsed = parseLoan(await this.wire.run(BORROW, [this.key], [lately, want, ...this.terms]))
      if ('problem' in parsed) {
        this.onInvalidReply(parsed.problem)
        throw new Error(parsed.problem)
      }
      const [lent, rest] = [Math.min(parsed.value[0], want), parsed.value[1]]
      this.slice += lent
      this.rest = rest
      this.spent = lent < want
      this.refused = false
      this.lentAt = this.clock.now()
    } catch {
      this.unreported += calls
      this.refused = this.wire.up
    } finally {
      this.askedAt = this.clock.now()
      this.borrowing = false
    }
    // Calls may have been made meanwhile.
    if (this.unreported >= MANY && !this.alone) void this.borrow()
  }
}

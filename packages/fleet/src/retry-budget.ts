import { type Clock, RetryBudget, type RetryBudgetOptions } from 'holdfast'
import { runOutsideContext } from 'holdfast/internal'
import { BORROW } from './fleet-scripts.js'
import type { RedisConnection } from './redis-connection.js'
import { parseLoan } from './replies.js'

/** The fewest and the most retries that are borrowed at a time. */
const MIN_SLICE = 5
const MAX_SLICE = 100

/** So many calls are reported without a retry being asked for. */
const MAX_UNREPORTED_CALLS = 1000

/** So often in a window a fleet that had nothing left, or did not answer, is asked again. */
const RETRIES_PER_WINDOW = 10

/**
 * A retry budget that a fleet shares. Retries are borrowed in slices and taken from the slice at hand, so that no call
 * waits for Redis. While the next slice is on its way at most one more slice is taken on credit. Where Redis is lost, or
 * does not lend, the node goes by a budget of its own with the same figures.
 */
export class FleetRetryBudget extends RetryBudget {
  /** Retries at hand; below 0 where some were taken on credit. */
  private borrowed = 0
  /** What the fleet had left besides. */
  private fleetRemaining = 0
  /** Whether the fleet has lately had nothing left. */
  private isFleetExhausted = false
  /** Whether Redis is there and does not lend. */
  private isRejected = false
  private isBorrowing = false
  /** Calls that the fleet has not been told of. */
  private unreported = 0
  /** When the fleet was last asked, and when it was last told of calls and lent something. */
  private requestedAt: number
  private borrowedAt: number
  private readonly key: string
  private readonly redis: RedisConnection
  private readonly clock: Clock
  private readonly budgetOptions: readonly [ratio: number, reservePerSecond: number, window: number]

  private readonly onInvalidReply: (problem: string) => void

  constructor(
    id: string,
    redis: RedisConnection,
    options: RetryBudgetOptions & { window: number; clock: Clock },
    onInvalidReply: (problem: string) => void = () => {},
  ) {
    super(options)
    this.onInvalidReply = onInvalidReply
    const { ratio = 0.2, reservePerSecond = 10, window, clock } = options
    this.key = `holdfast:{budget:${id}}:window`
    this.redis = redis
    this.clock = clock
    this.requestedAt = this.borrowedAt = clock.now()
    this.budgetOptions = [ratio, reservePerSecond, window]
    void this.borrow()
  }

  /** What is at hand and what the fleet had left when it was last asked. */
  override get left(): number {
    return this.isDisconnected ? super.left : this.borrowed + this.fleetRemaining
  }

  override deposit(): void {
    super.deposit()
    if (++this.unreported % MAX_UNREPORTED_CALLS === 0) void this.borrow()
  }

  override withdraw(): boolean {
    const now = this.clock.now()
    const [, , window] = this.budgetOptions
    const canAskAgain =
      !(this.isFleetExhausted || this.isRejected) || now - this.requestedAt > window / RETRIES_PER_WINDOW
    if (this.borrowed < this.sliceSize / 2 && canAskAgain) void this.borrow()
    if (this.isDisconnected) return super.withdraw()
    // What was borrowed in a window that has passed is not at hand any more; what is owed stays owed.
    if (now - this.borrowedAt > window) this.borrowed = Math.min(this.borrowed, 0)
    if (this.borrowed <= 0 && (this.isFleetExhausted || this.borrowed <= -this.sliceSize)) return false
    this.borrowed--
    return true
  }

  private get isDisconnected(): boolean {
    return !this.redis.isUp || this.isRejected
  }

  /** A tenth of what the reserve alone gives in a window. */
  private get sliceSize(): number {
    const [, reservePerSecond, window] = this.budgetOptions
    return Math.min(MAX_SLICE, Math.max(MIN_SLICE, Math.round((reservePerSecond * window) / 10_000)))
  }

  /** Reports calls and borrows a slice, for all callers and in the async context of none. */
  async borrow(): Promise<void> {
    if (this.isBorrowing || !this.redis.isUp) return
    this.isBorrowing = true
    await runOutsideContext(() => this.exchange())
  }

  private async exchange(): Promise<void> {
    const [, , window] = this.budgetOptions
    const calls = this.unreported
    const want = Math.max(0, this.sliceSize - this.borrowed)
    // Of calls that were made over more than a window, those of the last window count.
    const lately = Math.round(calls * Math.min(1, window / (this.clock.now() - this.borrowedAt)))
    this.unreported = 0
    try {
      const parsed = parseLoan(
        await this.redis.run(BORROW, [this.key], [lately, want, ...this.budgetOptions]),
      )
      if ('problem' in parsed) {
        this.onInvalidReply(parsed.problem)
        throw new Error(parsed.problem)
      }
      const [lent, rest] = [Math.min(parsed.value[0], want), parsed.value[1]]
      this.borrowed += lent
      this.fleetRemaining = rest
      this.isFleetExhausted = lent < want
      this.isRejected = false
      this.borrowedAt = this.clock.now()
    } catch {
      this.unreported += calls
      this.isRejected = this.redis.isUp
    } finally {
      this.requestedAt = this.clock.now()
      this.isBorrowing = false
    }
    // Calls may have been made meanwhile.
    if (this.unreported >= MAX_UNREPORTED_CALLS && !this.isDisconnected) void this.borrow()
  }
}

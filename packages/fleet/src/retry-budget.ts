import { type Clock, RetryBudget, type RetryBudgetOptions } from 'holdfast'
import { runOutsideContext } from 'holdfast/internal'
import { BORROW } from './lua/scripts.js'
import type { RedisConnection } from './redis-connection.js'
import { parseLoan } from './replies.js'

/** The smallest and the largest number of retries that are borrowed at a time. */
const MIN_SLICE = 5
const MAX_SLICE = 100

/** Calls are reported after this many, even if no retry is needed. */
const MAX_UNREPORTED_CALLS = 1000

/** How often per window retries are requested again after the fleet had none left or did not reply. */
const REQUESTS_PER_WINDOW = 10

/**
 * A retry budget that a fleet shares. Retries are borrowed in slices and taken from the current slice, so that no call waits for
 * Redis. While the next slice is being requested, at most one more slice is taken on credit. If Redis is not available or rejects
 * the request, the node uses a budget of its own with the same settings.
 */
export class FleetRetryBudget extends RetryBudget {
  /** Borrowed retries that are left; below 0 if some were taken on credit. */
  private borrowed = 0
  /** The retries that the fleet had left after the last request. */
  private fleetRemaining = 0
  /** Whether the fleet lent less than was requested last. */
  private isFleetExhausted = false
  /** Whether Redis is available and rejected the last request. */
  private isRejected = false
  private isBorrowing = false
  /** Calls that have not been reported to the fleet. */
  private unreported = 0
  /** Time of the last request, and of the last successful one. */
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

  /** The borrowed retries and those that the fleet had left after the last request. */
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
    const canRequest =
      !(this.isFleetExhausted || this.isRejected) || now - this.requestedAt > window / REQUESTS_PER_WINDOW
    if (this.borrowed < this.sliceSize / 2 && canRequest) void this.borrow()
    if (this.isDisconnected) return super.withdraw()
    // Retries that were borrowed in an earlier window expire; retries that were taken on credit remain owed.
    if (now - this.borrowedAt > window) this.borrowed = Math.min(this.borrowed, 0)
    if (this.borrowed <= 0 && (this.isFleetExhausted || this.borrowed <= -this.sliceSize)) return false
    this.borrowed--
    return true
  }

  override refund(age: number): void {
    const [, , window] = this.budgetOptions
    if (this.isDisconnected) super.refund(age)
    else if (age < window) this.borrowed++
  }

  private get isDisconnected(): boolean {
    return !this.redis.isUp || this.isRejected
  }

  /** A tenth of the retries that the reserve gives in one window. */
  private get sliceSize(): number {
    const [, reservePerSecond, window] = this.budgetOptions
    return Math.min(MAX_SLICE, Math.max(MIN_SLICE, Math.round((reservePerSecond * window) / 10_000)))
  }

  /** Reports calls and borrows a slice, outside the async context of any caller. */
  async borrow(): Promise<void> {
    if (this.isBorrowing || !this.redis.isUp) return
    this.isBorrowing = true
    await runOutsideContext(() => this.exchange())
  }

  private async exchange(): Promise<void> {
    const [, , window] = this.budgetOptions
    const calls = this.unreported
    const wanted = Math.max(0, this.sliceSize - this.borrowed)
    // Of calls over more than one window, only those of the last window count.
    const recentCalls = Math.round(calls * Math.min(1, window / (this.clock.now() - this.borrowedAt)))
    this.unreported = 0
    try {
      const parsed = parseLoan(
        await this.redis.run(BORROW, [this.key], [recentCalls, wanted, ...this.budgetOptions]),
      )
      if ('problem' in parsed) {
        this.onInvalidReply(parsed.problem)
        throw new Error(parsed.problem)
      }
      const [lent, left] = [Math.min(parsed.value[0], wanted), parsed.value[1]]
      this.borrowed += lent
      this.fleetRemaining = left
      this.isFleetExhausted = lent < wanted
      this.isRejected = false
      this.borrowedAt = this.clock.now()
    } catch {
      this.unreported += calls
      this.isRejected = this.redis.isUp
    } finally {
      this.requestedAt = this.clock.now()
      this.isBorrowing = false
    }
    // More calls may have been made meanwhile.
    if (this.unreported >= MAX_UNREPORTED_CALLS && !this.isDisconnected) void this.borrow()
  }
}

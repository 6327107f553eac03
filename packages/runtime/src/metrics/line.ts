import { type OperationCounters, observe } from './counters.js'
import { PART, TOTAL } from './ledger.js'
import type { Metrics } from './metrics.js'

/** So many first-try successes after a reading are timed one by one, and then one in as many. A power of two. */
const SAMPLE = 16

/** How a call ended that failed at least once, or that was refused. */
export interface CallFacts {
  success: boolean
  /** How many attempts it had. */
  attempts: number
  /** Milliseconds from its beginning to its end, waits included. */
  duration: number
  /** The policies that decided over it; it counts for the last. Where none is given, for the line's. */
  policyIds?: readonly string[] | undefined
  /** A failure by kind that no attempt stands for. */
  kind?: string | undefined
}

/**
 * The counters of one kind of call. Whoever makes calls keeps one for each operation it knows. A first-try success costs an
 * addition; everything else goes to the ledger at once.
 */
export class Line {
  private first = 0
  private time = 0
  private readonly board: Metrics
  private readonly policyId: string
  private readonly subsystem: string | undefined
  private readonly totals: OperationCounters

  constructor(board: Metrics, policyId: string, subsystem: string | undefined, operation: string) {
    this.board = board
    this.policyId = policyId
    this.subsystem = subsystem
    this.totals = board.totals.operations.get(operation)
  }

  /** A call succeeded with its first attempt, which began at `startedAt`, in monotonic time. */
  success(startedAt: number): void {
    const count = this.first + 1
    if (count > SAMPLE && (count & (SAMPLE - 1)) !== 0 && startedAt < this.board.minuteEnd) this.first = count
    else this.timed(startedAt)
  }

  /**
   * An attempt ended that is not a first-try success. `duration` is left out where it never began; `kind` says what a
   * failure was.
   */
  attempt(ok: boolean, duration: number | undefined, kind?: string): void {
    const { board } = this
    board.tick()
    if (duration !== undefined) {
      board.took(duration, 1)
      board.count(TOTAL.attemptTime, duration)
      board.count(TOTAL.timedAttempts, 1)
      observe(this.totals.attempts, duration, 1)
    }
    if (!ok && kind !== undefined) board.failed(kind)
  }

  /** A call ended that is not a first-try success. Its attempts have been told one by one. */
  ended({ success, attempts, duration, policyIds, kind }: CallFacts): void {
    const { board, totals } = this
    const retries = Math.max(0, attempts - 1)
    board.tick()
    board.count(TOTAL.sessions, 1)
    board.count(TOTAL.attempts, attempts)
    board.count(TOTAL.retries, retries)
    board.count(TOTAL.most, attempts)
    board.count(TOTAL.callTime, duration)
    if (success) {
      board.count(TOTAL.successes, 1)
      board.succeeded(attempts, 1)
    }
    if (kind !== undefined) board.failed(kind)
    this.share(policyIds?.at(-1) ?? this.policyId, 1, success ? 1 : 0, attempts)
    if (retries > 0) totals[success ? 'recovered' : 'exhausted']++
    else totals[success ? 'succeeded' : 'failed']++
    totals.retries += retries
    observe(totals.calls, duration, 1)
  }

  /** Brings what was counted since the last time into the ledger. @internal */
  settle(): void {
    const { board, first, totals } = this
    // Those after the last sample took what the others took on average.
    const timed = first <= SAMPLE ? first : first - (first & (SAMPLE - 1))
    const time = timed === 0 ? 0 : (this.time * first) / timed
    board.count(TOTAL.sessions, first)
    board.count(TOTAL.successes, first)
    board.count(TOTAL.attempts, first)
    board.count(TOTAL.most, 1)
    board.count(TOTAL.callTime, time)
    board.count(TOTAL.attemptTime, time)
    board.count(TOTAL.timedAttempts, first)
    board.succeeded(1, first)
    this.share(this.policyId, first, first, first)
    totals.succeeded += first
    this.first = 0
    this.time = 0
  }

  private timed(startedAt: number): void {
    const { board, totals } = this
    const duration = Math.max(0, board.tick() - startedAt)
    const count = ++this.first
    if (count === 1) board.active.push(this)
    const weight = count <= SAMPLE ? 1 : SAMPLE
    this.time += duration * weight
    board.took(duration, weight)
    observe(totals.calls, duration, weight)
    observe(totals.attempts, duration, weight)
  }

  private share(policyId: string, sessions: number, successes: number, attempts: number): void {
    const { minute, own } = this.board
    const subsystem = this.subsystem === undefined ? undefined : own.subsystems.get(this.subsystem)
    for (const series of [own.policies.get(policyId), subsystem]) {
      series?.add(minute, PART.sessions, sessions)
      series?.add(minute, PART.successes, successes)
      series?.add(minute, PART.attempts, attempts)
    }
  }
}

import { growArray, type SlotIndexed } from '../indexes/grow-array.js'

/** Statistics of the attempts of a member. Durations are milliseconds. */
export interface MemberStats {
  /** The id of the member. */
  readonly proxyId: string
  /** Attempts that ended, including those that count neither as a success nor as a failure of the member. */
  readonly totalAttempts: number
  /** The number of successful attempts. */
  readonly successCount: number
  /** Attempts that count as failures of the member. */
  readonly failureCount: number
  /** The mean duration of the attempts; 0 before the first. */
  readonly avgLatency: number
  /** How often the breaker of the member has opened. */
  readonly circuitBreakerOpens: number
  /** The score of the member; only with the strategy `score`. */
  readonly score?: number
  /** The decaying average of the latencies; only with the strategy `least_latency`, after the first result. */
  readonly latency?: number
}

/** A row fills one cache line (64 bytes), so that an attempt touches one line. */
const COUNTER_ROW_LENGTH = 8

/** The columns of a row. */
const SELECTIONS = 0
const ATTEMPTS = 1
const SUCCESSES = 2
const FAILURES = 3
const TOTAL_DURATION = 4
const OPENS = 5

/** The counters of each slot. */
export class MemberCounters implements SlotIndexed {
  private rows = new Float64Array(0)

  /** How often a slot was selected. */
  selections(slot: number): number {
    return this.rows[slot * COUNTER_ROW_LENGTH + SELECTIONS] as number
  }

  countSelection(slot: number): void {
    this.add(slot, SELECTIONS, 1)
  }

  /** Counts an attempt that ended; `isFailure` is undefined when it is neither a success nor a failure of the member. */
  countAttempt(slot: number, isFailure: boolean | undefined, duration: number): void {
    this.add(slot, ATTEMPTS, 1)
    this.add(slot, TOTAL_DURATION, duration)
    if (isFailure !== undefined) this.add(slot, isFailure ? FAILURES : SUCCESSES, 1)
  }

  /** Adds failures without an attempt: deferred ones, or with a negative count those that are rolled back. */
  addFailures(slot: number, count: number): void {
    this.add(slot, FAILURES, count)
  }

  /** Adds openings of the breaker; a negative count rolls them back. */
  addOpens(slot: number, count: number): void {
    this.add(slot, OPENS, count)
  }

  opens(slot: number): number {
    return this.rows[slot * COUNTER_ROW_LENGTH + OPENS] as number
  }

  stats(slot: number, proxyId: string): MemberStats {
    const row = this.rows.subarray(slot * COUNTER_ROW_LENGTH)
    const totalAttempts = row[ATTEMPTS] as number
    return {
      proxyId,
      totalAttempts,
      successCount: row[SUCCESSES] as number,
      failureCount: row[FAILURES] as number,
      avgLatency: totalAttempts === 0 ? 0 : (row[TOTAL_DURATION] as number) / totalAttempts,
      circuitBreakerOpens: row[OPENS] as number,
    }
  }

  clear(slot: number): void {
    this.rows.fill(0, slot * COUNTER_ROW_LENGTH, (slot + 1) * COUNTER_ROW_LENGTH)
  }

  grow(capacity: number): void {
    this.rows = growArray(this.rows, capacity * COUNTER_ROW_LENGTH)
  }

  private add(slot: number, column: number, amount: number): void {
    ;(this.rows[slot * COUNTER_ROW_LENGTH + column] as number) += amount
  }
}

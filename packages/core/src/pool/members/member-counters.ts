import { growArray, type SlotIndexed } from '../indexes/grow-array.js'

/** What a pool knows of a member's attempts. Durations are milliseconds. */
export interface MemberStats {
  /** The member's id. */
  readonly proxyId: string
  /** Attempts that ended, those that say nothing of the member among them. */
  readonly totalAttempts: number
  readonly successCount: number
  /** Attempts that failed in a way that counts against the member. */
  readonly failureCount: number
  /** The mean duration of its attempts; 0 before the first. */
  readonly avgLatency: number
  /** How often its breaker has opened. */
  readonly circuitBreakerOpens: number
  /** Its score, where the strategy is `score`. */
  readonly score?: number
  /** The decaying average of its latencies, where the strategy is `least_latency` and it has been used. */
  readonly latency?: number
}

/** A row is as long as a line of the processor's cache, so that an attempt costs one look into memory. */
const COUNTER_ROW_LENGTH = 8

/** What the numbers of a row are. */
const SELECTIONS = 0
const ATTEMPTS = 1
const SUCCESSES = 2
const FAILURES = 3
const TOTAL_DURATION = 4
const OPENS = 5

/** The counters of each slot. */
export class MemberCounters implements SlotIndexed {
  private rows = new Float64Array(0)

  /** How often a slot was chosen. */
  selections(slot: number): number {
    return this.rows[slot * COUNTER_ROW_LENGTH + SELECTIONS] as number
  }

  countSelection(slot: number): void {
    this.add(slot, SELECTIONS, 1)
  }

  /** An attempt ended; `isFailure` is undefined where that says nothing of the member. */
  countAttempt(slot: number, isFailure: boolean | undefined, duration: number): void {
    this.add(slot, ATTEMPTS, 1)
    this.add(slot, TOTAL_DURATION, duration)
    if (isFailure !== undefined) this.add(slot, isFailure ? FAILURES : SUCCESSES, 1)
  }

  /** Failures come in, or are taken back, without an attempt of their own. */
  addFailures(slot: number, count: number): void {
    this.add(slot, FAILURES, count)
  }

  /** Openings come in, or are taken back. */
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

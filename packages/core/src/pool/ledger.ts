import { type Growing, grown } from './indexes/grown.js'

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
const ROW = 8

/** What the numbers of a row are. */
const TURNS = 0
const ATTEMPTS = 1
const SUCCESSES = 2
const FAILURES = 3
const TIME = 4
const OPENS = 5

/** The counters of each slot. */
export class Ledger implements Growing {
  private rows = new Float64Array(0)

  /** How often a slot was chosen. */
  turns(slot: number): number {
    return this.rows[slot * ROW + TURNS] as number
  }

  turn(slot: number): void {
    this.add(slot, TURNS, 1)
  }

  /** An attempt ended; `failed` is undefined where that says nothing of the member. */
  attempt(slot: number, failed: boolean | undefined, duration: number): void {
    this.add(slot, ATTEMPTS, 1)
    this.add(slot, TIME, duration)
    if (failed !== undefined) this.add(slot, failed ? FAILURES : SUCCESSES, 1)
  }

  /** Failures come in, or are taken back, without an attempt of their own. */
  fail(slot: number, times: number): void {
    this.add(slot, FAILURES, times)
  }

  /** Openings come in, or are taken back. */
  open(slot: number, times: number): void {
    this.add(slot, OPENS, times)
  }

  opens(slot: number): number {
    return this.rows[slot * ROW + OPENS] as number
  }

  stats(slot: number, proxyId: string): MemberStats {
    const row = this.rows.subarray(slot * ROW)
    const totalAttempts = row[ATTEMPTS] as number
    return {
      proxyId,
      totalAttempts,
      successCount: row[SUCCESSES] as number,
      failureCount: row[FAILURES] as number,
      avgLatency: totalAttempts === 0 ? 0 : (row[TIME] as number) / totalAttempts,
      circuitBreakerOpens: row[OPENS] as number,
    }
  }

  forget(slot: number): void {
    this.rows.fill(0, slot * ROW, (slot + 1) * ROW)
  }

  grow(capacity: number): void {
    this.rows = grown(this.rows, capacity * ROW)
  }

  private add(slot: number, column: number, amount: number): void {
    ;(this.rows[slot * ROW + column] as number) += amount
  }
}

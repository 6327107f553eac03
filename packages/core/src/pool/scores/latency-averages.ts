import { growArray, type SlotIndexed } from '../indexes/grow-array.js'

/** The weight of a new result in the average. */
const SMOOTHING_FACTOR = 0.2

/** The idle time after which an average counts as half. */
const HALF_LIFE_MS = 10_000

/** A failure counts as at least this multiple of the average, so that a member that fails fast does not look fast. */
const FAILURE_FACTOR = 2

/** The decaying average of the latencies of each slot. */
export class LatencyAverages implements SlotIndexed {
  /** Two numbers for each slot: the average (-1 before the first result) and the time of the last result. */
  private rows = new Float64Array(0)

  /** Adds a result that took `ms` and arrived at `now`. A failure counts as at least twice the average. */
  add(slot: number, isFailure: boolean, ms: number, now: number): void {
    const mean = this.rows[2 * slot] as number
    const latency = isFailure ? Math.max(ms, FAILURE_FACTOR * mean) : ms
    this.rows[2 * slot] = mean < 0 ? latency : mean + SMOOTHING_FACTOR * (latency - mean)
    this.rows[2 * slot + 1] = now
  }

  /** The average without decay; undefined before the first result. */
  mean(slot: number): number | undefined {
    const mean = this.rows[2 * slot] as number
    return mean < 0 ? undefined : mean
  }

  /**
   * The average at `now`. It decays while the slot is not used, so that a single slow result does not exclude a member
   * permanently. A slot without results has -1, which is lower than every average.
   */
  decayedMean(slot: number, now: number): number {
    const mean = this.rows[2 * slot] as number
    const idle = Math.max(0, now - (this.rows[2 * slot + 1] as number))
    return mean < 0 ? mean : mean / (1 + idle / HALF_LIFE_MS)
  }

  clear(slot: number): void {
    this.rows[2 * slot] = -1
  }

  grow(capacity: number): void {
    this.rows = growArray(this.rows, 2 * capacity, -1)
  }
}

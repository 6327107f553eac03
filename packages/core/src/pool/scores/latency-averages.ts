import { growArray, type SlotIndexed } from '../indexes/grow-array.js'

/** How far a result moves the average. */
const SMOOTHING_FACTOR = 0.2

/** How long (ms) it takes an average to look half as long while its member is not used. */
const HALF_LIFE_MS = 10_000

/** What a failure counts as, in averages: one that fails fast is not quick. */
const FAILURE_FACTOR = 2

/** A decaying average of each slot's latencies. */
export class LatencyAverages implements SlotIndexed {
  /** Two numbers for each slot: the average, -1 before the first result, and when that came last. */
  private rows = new Float64Array(0)

  /** A result that took `ms` and came at `now`. A failure counts as twice the average where it was quicker. */
  add(slot: number, isFailure: boolean, ms: number, now: number): void {
    const mean = this.rows[2 * slot] as number
    const latency = isFailure ? Math.max(ms, FAILURE_FACTOR * mean) : ms
    this.rows[2 * slot] = mean < 0 ? latency : mean + SMOOTHING_FACTOR * (latency - mean)
    this.rows[2 * slot + 1] = now
  }

  /** The average itself; undefined before the first result. */
  mean(slot: number): number | undefined {
    const mean = this.rows[2 * slot] as number
    return mean < 0 ? undefined : mean
  }

  /**
   * The average as it looks at `now`: it fades while the slot is not used, so that one slow answer does not bar a member
   * for ever. One without results comes before all others.
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

/** How many results the long run is, and how many there must be before it says anything. */
const LONG_RUN = 200
const ENOUGH = 50

/** What share of a breaker's last 200 results were successes: the memory behind an adaptive threshold. */
export class Reliability {
  /** The results, oldest first, 1 a success and 0 a failure. */
  private results: number[] = []
  private successes = 0

  add(success: boolean): void {
    this.results.push(+success)
    this.successes += +success
    if (this.results.length > LONG_RUN) this.successes -= this.results.shift() as number
  }

  /** The threshold for a target this reliable: less patience with one that has long failed, never below 2. */
  threshold(failureThreshold: number): number {
    const count = this.results.length
    if (count < ENOUGH) return failureThreshold
    const scale = Math.min(1, Math.max(0.4, this.successes / count / 0.9))
    return Math.max(2, Math.round(failureThreshold * scale))
  }

  save(): string {
    return this.results.join('')
  }
}

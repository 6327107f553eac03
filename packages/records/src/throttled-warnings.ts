import type { Clock } from 'holdfast'

const WARN_INTERVAL_MS = 60_000

/** Writes at most one warning a minute, with the number of suppressed ones. */
export class ThrottledWarnings {
  private readonly clock: Clock
  private readonly writeWarning: (line: string) => void
  private nextWarningAt = Number.NEGATIVE_INFINITY
  private suppressed = 0

  constructor(clock: Clock, writeWarning: (line: string) => void) {
    this.clock = clock
    this.writeWarning = writeWarning
  }

  /** Writes a warning, or counts it if one was written less than a minute ago. */
  warn(line: string): void {
    const now = this.clock.now()
    if (now < this.nextWarningAt) {
      this.suppressed++
      return
    }
    this.nextWarningAt = now + WARN_INTERVAL_MS
    this.writeWarning(this.suppressed > 0 ? `${line} (${this.suppressed} more in the last minute)` : line)
    this.suppressed = 0
  }
}

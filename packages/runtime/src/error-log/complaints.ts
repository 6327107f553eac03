import type { Clock } from 'holdfast'

const PAUSE = 60_000

/** Complains about one thing at most once a minute, and tells how often it kept silent meanwhile. */
export class Complaints {
  private readonly clock: Clock
  private readonly complain: (line: string) => void
  private next = Number.NEGATIVE_INFINITY
  private silent = 0

  constructor(clock: Clock, complain: (line: string) => void) {
    this.clock = clock
    this.complain = complain
  }

  say(line: string): void {
    const now = this.clock.now()
    if (now < this.next) {
      this.silent++
      return
    }
    this.next = now + PAUSE
    this.complain(this.silent > 0 ? `${line} (${this.silent} more in the last minute)` : line)
    this.silent = 0
  }
}

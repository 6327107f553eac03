/** How many calls there were lately: within about one window, in which the older half is forgotten as a whole. */
export class RecentCallCount {
  /** All calls so far. */
  totalCalls: number
  private currentMark = { at: 0, calls: 0 }
  private previousMark = { at: 0, calls: 0 }

  constructor(calls: number) {
    this.totalCalls = calls
  }

  get count(): number {
    return this.totalCalls - this.previousMark.calls
  }

  /** Remembers how many there were, about twice in a window. */
  rotate(now: number, window: number): void {
    if (now - this.currentMark.at < window / 2) return
    this.previousMark = this.currentMark
    this.currentMark = { at: now, calls: this.totalCalls }
  }
}

/** Counts the calls of about one window. The older half of the window is removed as a whole. */
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

  /** Starts a new half of the window if the current one has ended. */
  rotate(now: number, window: number): void {
    if (now - this.currentMark.at < window / 2) return
    this.previousMark = this.currentMark
    this.currentMark = { at: now, calls: this.totalCalls }
  }
}

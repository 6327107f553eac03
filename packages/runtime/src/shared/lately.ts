/** How many calls there were lately: within about one window, in which the older half is forgotten as a whole. */
export class Lately {
  /** All calls so far. */
  calls: number
  private mark = { at: 0, calls: 0 }
  private before = { at: 0, calls: 0 }

  constructor(calls: number) {
    this.calls = calls
  }

  get count(): number {
    return this.calls - this.before.calls
  }

  /** Remembers how many there were, about twice in a window. */
  rotate(now: number, window: number): void {
    if (now - this.mark.at < window / 2) return
    this.before = this.mark
    this.mark = { at: now, calls: this.calls }
  }
}

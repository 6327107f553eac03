import type { BreakerSettings } from './options.js'

/** A rate window has this many buckets. Results in the same bucket share one entry, so there are never more than 257 entries. */
const RATE_WINDOW_BUCKETS = 256

/** The numbers of one entry: its time, and the counts of calls, failures and slow calls. */
const ENTRY_SIZE = 4

/**
 * The recent results of a closed breaker: a list of entries, oldest first, and their sums.
 *
 * A rolling window keeps failures and removes them when they are older than `windowDuration`; a failure exactly that old
 * still counts. It never keeps more failures than open the breaker, so its memory is limited by the threshold. A
 * consecutive window keeps failures and removes all of them with a success. A rate window counts every call.
 */
export class OutcomeWindow {
  /** The entries from `firstIndex` on, the newest at the end. */
  entries: number[] = []
  failed = 0
  slow = 0
  private firstIndex = 0
  private calls = 0
  private readonly settings: BreakerSettings

  constructor(settings: BreakerSettings) {
    this.settings = settings
  }

  /** Creates a window from the entries of {@link toEntries}; undefined where there are none. */
  static fromEntries(settings: BreakerSettings, entries: readonly number[]): OutcomeWindow | undefined {
    if (entries.length === 0) return undefined
    const window = new OutcomeWindow(settings)
    for (let i = 0; i < entries.length; i += ENTRY_SIZE)
      window.appendEntry(...(entries.slice(i, i + ENTRY_SIZE) as [number, number, number, number]))
    return window
  }

  /** Adds a result and returns whether it opens the breaker. `now` must not decrease from call to call. */
  recordOutcome(now: number, isFailure: boolean, isSlow: boolean, threshold: number): boolean {
    // 2 is never reached and means no limit.
    const { windowType, failureRate = 2, slowCallRate = 2, minimumCalls } = this.settings
    const isRateWindow = windowType === 'rate'
    if (isRateWindow || isFailure) this.appendEntry(now, 1, +isFailure, +isSlow)
    else if (windowType === 'consecutive') while (this.calls > 0) this.removeOldest()
    const { calls } = this.evictExpired(now)
    return isRateWindow
      ? calls >= minimumCalls && (this.failed / calls >= failureRate || this.slow / calls >= slowCallRate)
      : isFailure && calls >= threshold
  }

  /** The number of failures in the window now. */
  countFailures(now: number): number {
    return this.evictExpired(now).failed
  }

  /** Returns the entries, with their times converted by `convertTime`. */
  toEntries(now: number, convertTime: (time: number) => number): number[] {
    const { entries, firstIndex } = this.evictExpired(now)
    return entries.slice(firstIndex).map((value, i) => (i % ENTRY_SIZE === 0 ? convertTime(value) : value))
  }

  /** Adds an entry that is not older than the existing ones. */
  appendEntry(time: number, calls: number, failed: number, slow: number): void {
    const { entries, settings } = this
    const last = entries.length - ENTRY_SIZE
    const isRateWindow = settings.windowType === 'rate'
    if (
      isRateWindow &&
      last >= this.firstIndex &&
      time - (entries[last] as number) < settings.windowDuration / RATE_WINDOW_BUCKETS
    ) {
      ;(entries[last + 1] as number) += calls
      ;(entries[last + 2] as number) += failed
      ;(entries[last + 3] as number) += slow
    } else entries.push(time, calls, failed, slow)
    this.addToTotals(calls, failed, slow)
    // `adaptiveThreshold` never returns less than 2, even where `failureThreshold` is 1.
    if (!isRateWindow && this.calls > Math.max(2, settings.failureThreshold)) this.removeOldest()
  }

  private evictExpired(now: number): this {
    const { windowType, windowDuration } = this.settings
    while (windowType !== 'consecutive' && (this.entries[this.firstIndex] as number) < now - windowDuration)
      this.removeOldest()
    return this
  }

  private removeOldest(): void {
    const { entries, firstIndex } = this
    this.addToTotals(
      -(entries[firstIndex + 1] as number),
      -(entries[firstIndex + 2] as number),
      -(entries[firstIndex + 3] as number),
    )
    this.firstIndex += ENTRY_SIZE
    if (this.firstIndex * 2 > entries.length) {
      entries.splice(0, this.firstIndex)
      this.firstIndex = 0
    }
  }

  private addToTotals(calls: number, failed: number, slow: number): void {
    this.calls += calls
    this.failed += failed
    this.slow += slow
  }
}

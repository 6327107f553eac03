import type { BreakerSettings } from './options.js'

/** Results of a rate window closer than this share of it are one entry, so that it never holds more than 257. */
const RESOLUTION = 256

/** The numbers of an entry in the log: its time, and how many calls there were, failed ones and slow ones. */
const WIDTH = 4

/**
 * What a closed breaker has seen lately: a log of entries, oldest first, and their sums.
 *
 * A rolling window logs failures and drops them when they are older than `windowDuration`; a failure exactly that old
 * still counts. It never holds more of them than open the breaker, so its memory is fixed by the threshold. A
 * consecutive window logs failures and drops all of them with a success. A rate window logs every call.
 */
export class Window {
  private log: number[] = []
  private first = 0
  private calls = 0
  private failed = 0
  private slow = 0
  private readonly settings: BreakerSettings

  constructor(settings: BreakerSettings) {
    this.settings = settings
  }

  /** A window with these entries, as {@link save} gives them; none where there are none. */
  static of(settings: BreakerSettings, log: readonly number[]): Window | undefined {
    if (log.length === 0) return undefined
    const window = new Window(settings)
    for (let i = 0; i < log.length; i += WIDTH)
      window.load(...(log.slice(i, i + WIDTH) as [number, number, number, number]))
    return window
  }

  /** Adds a result and tells whether it opens the breaker. Time never falls. */
  add(now: number, failed: boolean, slow: boolean, threshold: number): boolean {
    // No rate reaches 2.
    const { windowType, failureRate = 2, slowCallRate = 2, minimumCalls } = this.settings
    const rate = windowType === 'rate'
    if (rate || failed) this.load(now, 1, +failed, +slow)
    else if (windowType === 'consecutive') while (this.calls > 0) this.shift()
    const { calls } = this.expire(now)
    return rate
      ? calls >= minimumCalls && (this.failed / calls >= failureRate || this.slow / calls >= slowCallRate)
      : failed && calls >= threshold
  }

  /** How many failures it holds now. */
  failures(now: number): number {
    return this.expire(now).failed
  }

  /** Its log, with times changed by `time`. */
  save(now: number, time: (time: number) => number): number[] {
    const { log, first } = this.expire(now)
    return log.slice(first).map((value, i) => (i % WIDTH === 0 ? time(value) : value))
  }

  /** Adds an entry that is not older than those it holds. */
  load(time: number, calls: number, failed: number, slow: number): void {
    const { log, settings } = this
    const last = log.length - WIDTH
    const rate = settings.windowType === 'rate'
    if (rate && last >= this.first && time - (log[last] as number) < settings.windowDuration / RESOLUTION) {
      ;(log[last + 1] as number) += calls
      ;(log[last + 2] as number) += failed
      ;(log[last + 3] as number) += slow
    } else log.push(time, calls, failed, slow)
    this.count(calls, failed, slow)
    if (!rate && this.calls > Math.max(2, settings.failureThreshold)) this.shift()
  }

  private expire(now: number): this {
    const { windowType, windowDuration } = this.settings
    while (windowType !== 'consecutive' && (this.log[this.first] as number) < now - windowDuration)
      this.shift()
    return this
  }

  /** Forgets the oldest entry. */
  private shift(): void {
    const { log, first } = this
    this.count(-(log[first + 1] as number), -(log[first + 2] as number), -(log[first + 3] as number))
    this.first += WIDTH
    if (this.first * 2 > log.length) {
      log.splice(0, this.first)
      this.first = 0
    }
  }

  private count(calls: number, failed: number, slow: number): void {
    this.calls += calls
    this.failed += failed
    this.slow += slow
  }
}

import type { Clock } from 'holdfast'
import { LabelledValues } from '../metrics/labelled-values.js'

const WINDOW_MS = 60_000

/** Alerts of one operation and kind: one a minute. All alerts: so many a minute. */
const MAX_ALERTS_PER_WINDOW = 20
const MAX_KEYS = 500

interface KeyLimit {
  nextAllowedAt: number
  suppressed: number
}

/** Lets one alert of a key through a minute, and not too many of all, and counts those it holds back. */
export class AlertLimiter {
  private readonly clock: Clock
  private readonly limits = new LabelledValues<KeyLimit>(
    () => ({ nextAllowedAt: Number.NEGATIVE_INFINITY, suppressed: 0 }),
    MAX_KEYS,
  )
  private minuteEnd = Number.NEGATIVE_INFINITY
  private sent = 0

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** How many of the key were held back since the last one that passed; undefined where this one is held back too. */
  tryAcquire(key: string): number | undefined {
    const now = this.clock.now()
    const limit = this.limits.get(key)
    if (now >= this.minuteEnd) {
      this.minuteEnd = now + WINDOW_MS
      this.sent = 0
      // Room for new keys: what has been quiet for a minute and holds nothing back need not be remembered.
      this.limits.prune((other) => other !== limit && other.nextAllowedAt <= now && other.suppressed === 0)
    }
    if (now < limit.nextAllowedAt || this.sent >= MAX_ALERTS_PER_WINDOW) {
      limit.suppressed++
      return undefined
    }
    const { suppressed } = limit
    limit.suppressed = 0
    limit.nextAllowedAt = now + WINDOW_MS
    this.sent++
    return suppressed
  }
}

import type { Clock } from 'holdfast'
import { LabelledValues } from '../metrics/labelled-values.js'

const WINDOW_MS = 60_000

/** One alert per minute for an operation and kind, and this many per minute in total. */
const MAX_ALERTS_PER_WINDOW = 20
const MAX_KEYS = 500

interface KeyLimit {
  nextAllowedAt: number
  suppressed: number
}

/** Permits one alert per key and minute and a limited total, and counts the suppressed ones. */
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

  /** The number of suppressed alerts of the key since its last alert; undefined where this alert is suppressed too. */
  tryAcquire(key: string): number | undefined {
    const now = this.clock.now()
    const limit = this.limits.get(key)
    if (now >= this.minuteEnd) {
      this.minuteEnd = now + WINDOW_MS
      this.sent = 0
      // Keys without suppressed alerts that were quiet for a minute make room for new ones.
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

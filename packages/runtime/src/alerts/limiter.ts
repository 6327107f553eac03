import type { Clock } from 'holdfast'
import { Labels } from '../metrics/labels.js'

const MINUTE = 60_000

/** Alerts of one operation and kind: one a minute. All alerts: so many a minute. */
const MOST = 20
const KEYS = 500

interface Gate {
  next: number
  held: number
}

/** Lets one alert of a key through a minute, and not too many of all, and counts those it holds back. */
export class AlertLimiter {
  private readonly clock: Clock
  private readonly gates = new Labels<Gate>(() => ({ next: Number.NEGATIVE_INFINITY, held: 0 }), KEYS)
  private minuteEnd = Number.NEGATIVE_INFINITY
  private passed = 0

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** How many of the key were held back since the last one that passed; undefined where this one is held back too. */
  admit(key: string): number | undefined {
    const now = this.clock.now()
    const gate = this.gates.get(key)
    if (now >= this.minuteEnd) {
      this.minuteEnd = now + MINUTE
      this.passed = 0
      // Room for new keys: what has been quiet for a minute and holds nothing back need not be remembered.
      this.gates.prune((other) => other !== gate && other.next <= now && other.held === 0)
    }
    if (now < gate.next || this.passed >= MOST) {
      gate.held++
      return undefined
    }
    const { held } = gate
    gate.held = 0
    gate.next = now + MINUTE
    this.passed++
    return held
  }
}

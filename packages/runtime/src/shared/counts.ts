import type { CircuitBreaker } from 'holdfast'
import { timer } from './timer.js'

/** How long counts wait for others to be sent with them, and how many calls are sent without a failure. */
const LINGER = 20
const MANY = 1000

/** Calls and failures that were counted together. */
export interface Counted {
  calls: number
  failures: number
  /** Whether a success came among them that ends all failures before it. */
  succeeded: boolean
}

const nothing = (): Counted => ({ calls: 0, failures: 0, succeeded: false })

/** What a node counts for the sum of a fleet, sent in batches. */
export class Counts {
  private readonly breaker: CircuitBreaker
  private readonly send: (counted: Counted) => void
  private tally = nothing()
  private waiting: unknown = undefined

  constructor(breaker: CircuitBreaker, send: (counted: Counted) => void) {
    this.breaker = breaker
    this.send = send
  }

  add(failed: boolean): void {
    const { tally } = this
    const { windowType, clock } = this.breaker.settings
    tally.calls++
    if (failed) tally.failures++
    else if (windowType === 'consecutive') {
      tally.failures = 0
      tally.succeeded = true
    }
    if (!failed && (windowType !== 'rate' || tally.calls < MANY)) return
    this.waiting ??= timer(clock, () => this.flush(), LINGER)
  }

  close(): void {
    this.breaker.settings.clock.clearTimer(this.waiting)
  }

  private flush(): void {
    const { tally } = this
    this.waiting = undefined
    this.tally = nothing()
    this.send(tally)
  }
}

import type { CircuitBreaker } from 'holdfast'
import { setUnrefTimer } from './unref-timer.js'

/** How long counts wait to be sent in one batch, and how many successful calls are batched in a rate window. */
const FLUSH_DELAY_MS = 20
const MAX_BATCHED_CALLS = 1000

/** Calls and failures that were counted together. */
export interface CountedResults {
  calls: number
  failures: number
  /** Whether a success among them ended the previous failures, in a consecutive window. */
  hasSuccess: boolean
}

const emptyCounts = (): CountedResults => ({ calls: 0, failures: 0, hasSuccess: false })

/** Collects the results of a node and sends them to the fleet's window in batches. */
export class CountBatcher {
  private readonly breaker: CircuitBreaker
  private readonly send: (counted: CountedResults) => void
  private pending = emptyCounts()
  private timer: unknown = undefined

  constructor(breaker: CircuitBreaker, send: (counted: CountedResults) => void) {
    this.breaker = breaker
    this.send = send
  }

  add(isFailure: boolean): void {
    const { pending } = this
    const { windowType, clock } = this.breaker.settings
    pending.calls++
    if (isFailure) pending.failures++
    else if (windowType === 'consecutive') {
      pending.failures = 0
      pending.hasSuccess = true
    }
    if (!isFailure && (windowType !== 'rate' || pending.calls < MAX_BATCHED_CALLS)) return
    this.timer ??= setUnrefTimer(clock, () => this.flush(), FLUSH_DELAY_MS)
  }

  close(): void {
    this.breaker.settings.clock.clearTimer(this.timer)
  }

  private flush(): void {
    const { pending } = this
    this.timer = undefined
    this.pending = emptyCounts()
    this.send(pending)
  }
}

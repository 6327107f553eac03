import type { EventInput } from '@holdfast/config'
import type { Clock, StopReason } from 'holdfast'
import { type RejectionReason, runOutsideContext } from 'holdfast/internal'

/** The period in which one rejected call of each operation and reason is recorded. */
const PERIOD_MS = 1000

/** Whether the records of each rejection are limited. Under overload, those that are can end thousands of calls per second. */
const IS_LIMITED: Readonly<Record<RejectionReason, boolean>> = {
  circuit_open: true,
  bulkhead_full: true,
  pool_unavailable: false,
  network_down: false,
}

interface Period {
  readonly operation: string
  readonly reason: StopReason
  count: number
  readonly timer: unknown
}

/**
 * Limits the records of rejected calls to the first one of each operation, reason and second. When several calls were rejected in
 * a second, a `calls_shed` event at its end has their number.
 */
export class RejectionLimiter {
  private readonly clock: Clock
  private readonly emit: (event: EventInput) => void
  private readonly periods = new Map<string, Period>()

  constructor(clock: Clock, emit: (event: EventInput) => void) {
    this.clock = clock
    this.emit = emit
  }

  /** Counts a rejected call. Returns whether it is recorded. */
  admit(operation: string, reason: StopReason): boolean {
    if (!IS_LIMITED[reason as RejectionReason]) return true
    const key = `${reason} ${operation}`
    const period = this.periods.get(key)
    if (period !== undefined) {
      period.count++
      return false
    }
    // The event is one of all rejected calls, so its listeners do not run in the context of the first one.
    const timer = runOutsideContext(() => this.clock.setTimer(() => this.end(key), PERIOD_MS))
    this.periods.set(key, { operation, reason, count: 1, timer })
    return true
  }

  /** Ends all periods now. */
  flush(): void {
    for (const key of this.periods.keys()) this.end(key)
  }

  private end(key: string): void {
    const period = this.periods.get(key)
    if (period === undefined) return
    const { operation, reason, count, timer } = period
    this.periods.delete(key)
    this.clock.clearTimer(timer)
    if (count > 1)
      this.emit({
        eventType: 'calls_shed',
        component: 'retry_manager',
        operation,
        context: { reason, count },
      })
  }
}

import type { Scheduler } from '../engine/scheduler.js'
import { type Fault, faultKind } from '../scenario/scenario.js'

/** Counts the faults that had an effect: a process ended, a packet was delayed, an operation failed. Others hit nothing. */
export class FaultEffects {
  /** The number of faults with an effect, by kind. */
  readonly byKind = new Map<string, number>()
  private readonly scheduler: Scheduler

  constructor(scheduler: Scheduler) {
    this.scheduler = scheduler
  }

  get count(): number {
    return [...this.byKind.values()].reduce((sum, count) => sum + count, 0)
  }

  /** A fault has had an effect. */
  add(fault: Fault): void {
    const kind = faultKind(fault)
    this.byKind.set(kind, (this.byKind.get(kind) ?? 0) + 1)
  }

  /** Counts a fault if a number has grown between now and its end. */
  addIfGrown(fault: Fault, ms: number, measure: () => number): void {
    const before = measure()
    this.scheduler.schedule(ms, () => {
      if (measure() > before) this.add(fault)
    })
  }
}

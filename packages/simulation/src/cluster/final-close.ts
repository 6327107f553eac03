import type { Scheduler } from '../engine/scheduler.js'
import { Violation } from '../engine/violation.js'
import type { Process } from '../process/simulated-node.js'
import type { Cluster } from './cluster.js'

/** How long the close of a process may take at the end, when nothing fails and no call is left. */
export const FINAL_CLOSE_MS = 10_000

/** The end of all processes of a simulation: each closes its runtime, and leaves nothing behind. */
export class FinalClose {
  private readonly scheduler: Scheduler
  private readonly waiting = new Set<Process>()
  private readonly closed: Process[] = []

  constructor(scheduler: Scheduler) {
    this.scheduler = scheduler
  }

  /** Begins to close all processes. */
  start(cluster: Cluster): void {
    for (const { process } of cluster.nodes) {
      if (process?.runtime === undefined) continue
      this.waiting.add(process)
      void cluster.close(process).then(() => {
        this.waiting.delete(process)
        this.closed.push(process)
      })
    }
  }

  /** Checks that all processes are closed, and that none of them has a timer. */
  check(): void {
    for (const { name } of this.waiting)
      throw new Violation(
        'hangs',
        `${name} has not closed in ${FINAL_CLOSE_MS} ms at ${this.scheduler.now} ms`,
      )
    for (const { name, clock } of this.closed)
      if (clock.timerCount > 0)
        throw new Violation('memory', `${name} is closed and has ${clock.timerCount} timers, expected none`)
  }
}

import { Violation } from '../engine/violation.js'
import type { Process, SimulatedNode } from '../process/simulated-node.js'

/**
 * The longest time between two executions of a periodic task, by the method of the store that it calls: reading changes of other
 * processes, saving metrics (which can be unchanged for some minutes at the end), deleting old records and old dead letters.
 */
const MAX_GAP_MS: Readonly<Record<string, number>> = {
  'layers.latest': 120_000,
  'metrics.save': 600_000,
  'sessions.expire': 300_000,
  'deadLetters.purge': 300_000,
}

/** The promise that periodic tasks continue after a failure. */
export class HousekeepingModel {
  private readonly now: () => number
  /** When the server last executed each method, by process. */
  private readonly executedAt = new Map<string, Map<string, number>>()

  constructor(now: () => number) {
    this.now = now
  }

  /** The server has executed a method of the store. */
  onExecuted(process: string, method: string): void {
    if (MAX_GAP_MS[method] === undefined) return
    const times = this.executedAt.get(process) ?? new Map<string, number>()
    this.executedAt.set(process, times.set(method, this.now()))
  }

  /** Checks the processes that use the server, some minutes after the last fault. */
  check(nodes: readonly SimulatedNode[], isOnServer: (process: Process) => boolean): void {
    for (const { process } of nodes) {
      if (process === undefined || !isOnServer(process)) continue
      for (const [method, maxGapMs] of Object.entries(MAX_GAP_MS)) {
        const at = this.executedAt.get(process.name)?.get(method)
        if (at === undefined || this.now() - at > maxGapMs)
          throw new Violation(
            'housekeeping',
            `${process.name} last called ${method} at ${at ?? 'no time'}: expected a call every ${maxGapMs} ms`,
          )
      }
    }
  }
}

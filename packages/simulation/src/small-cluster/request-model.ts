import { Violation } from '../engine/violation.js'
import type { LeaseModel } from './lease-model.js'
import type { QueueModel } from './queue-model.js'
import { WORKER_CONCURRENCY, WORKER_INTERVAL_MS } from './settings.js'

/** With notifications a worker looks for requests every ten intervals. */
const MAX_WAIT_MS = 10 * WORKER_INTERVAL_MS + 12_000

/** The promise that a worker that has a free handler serves a request within its interval. */
export class RequestModel {
  private readonly queue: QueueModel
  private readonly leases: LeaseModel
  private readonly waitedMs = new Map<string, number>()

  constructor(queue: QueueModel, leases: LeaseModel) {
    this.queue = queue
    this.leases = leases
  }

  /**
   * Checks the requests that no worker serves. Called periodically.
   *
   * @param workers - the processes with a worker that could call their store for some time
   * @param ms - the time since the last check
   */
  check(workers: readonly string[], ms: number): void {
    const hasFreeWorker = workers.some((process) => this.isFree(process))
    for (const { id, operation, isRequested, isCompleted } of this.queue.entries.values()) {
      // Entries of an operation with a breaker wait until it is available.
      const isServed = !isRequested || isCompleted || operation === 'guarded' || this.leases.isHeld(id)
      if (isServed) this.waitedMs.delete(id)
      else if (hasFreeWorker) this.waitedMs.set(id, (this.waitedMs.get(id) ?? 0) + ms)
      const waited = this.waitedMs.get(id) ?? 0
      if (waited > MAX_WAIT_MS)
        throw new Violation(
          'hangs',
          `${id} was requested, and no worker has leased it for ${waited} ms although one is free`,
        )
    }
  }

  private isFree(process: string): boolean {
    let running = 0
    for (const { lease } of this.leases.runs.values())
      if (lease.process === process && lease.kind === 'worker') running++
    return running < WORKER_CONCURRENCY
  }
}

import { Violation } from '../engine/violation.js'
import type { LeaseModel } from './lease-model.js'
import type { QueueModel } from './queue-model.js'
import {
  GUARDED_OPEN_MS,
  SOLE_NODE,
  SOLE_OPERATION,
  WORKER_CONCURRENCY,
  WORKER_INTERVAL_MS,
} from './settings.js'
import type { StoreCall } from './store-port.js'

/** With notifications a worker looks for requests every ten intervals. */
const MAX_WAIT_MS = 10 * WORKER_INTERVAL_MS + 12_000

/** A worker does not look for entries of an operation that is not available. */
const MAX_GUARDED_WAIT_MS = MAX_WAIT_MS + GUARDED_OPEN_MS

/** How long a process can try to end a lease. */
const SETTLING_MS = 20_000

/** A worker that is notified looks for requests at once, unless it still waits for slow calls of the store. */
const MAX_WAKE_MS = 6000

/** The promise that a worker that has a free handler serves a request within its interval. */
export class RequestModel {
  private readonly queue: QueueModel
  private readonly leases: LeaseModel
  private readonly now: () => number
  private readonly waitedMs = new Map<string, number>()
  /** When processes were notified of a request, until they look for it. */
  private readonly notifiedAt = new Map<string, number>()

  constructor(queue: QueueModel, leases: LeaseModel, now: () => number) {
    this.now = now
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
    const freeWorkers = workers.filter((process) => this.isFree(process))
    const hasFreeSoleWorker = freeWorkers.some((process) => process.startsWith(`${SOLE_NODE}.`))
    for (const { id, operation, isRequested, isCompleted } of this.queue.entries.values()) {
      // A process whose lease has ended while its handler runs does not lease the entry again for its worker.
      const isServed = !isRequested || isCompleted || this.leases.isHeld(id) || this.leases.runs.has(id)
      const hasFreeWorker = operation === SOLE_OPERATION ? hasFreeSoleWorker : freeWorkers.length > 0
      if (isServed) this.waitedMs.delete(id)
      else if (hasFreeWorker) this.waitedMs.set(id, (this.waitedMs.get(id) ?? 0) + ms)
      const waited = this.waitedMs.get(id) ?? 0
      if (waited > (operation === 'guarded' ? MAX_GUARDED_WAIT_MS : MAX_WAIT_MS))
        throw new Violation(
          'hangs',
          `${id} was requested, and no worker has leased it for ${waited} ms although one is free`,
        )
    }
  }

  /** The store notifies a process that has a worker. */
  onNotified(process: string): void {
    if (!this.notifiedAt.has(process)) this.notifiedAt.set(process, this.now())
  }

  onCalled({ process, method, args }: StoreCall): void {
    if (method === 'deadLetters.leaseNext' && (args[0] as { requested?: boolean }).requested)
      this.notifiedAt.delete(process)
  }

  /** Checks that workers that were notified have looked for requests. Called after each event. */
  checkNotified(isRunning: (process: string) => boolean): void {
    for (const [process, at] of this.notifiedAt)
      if (!isRunning(process)) this.notifiedAt.delete(process)
      else if (!this.isFree(process)) this.notifiedAt.set(process, this.now())
      else if (this.now() - at > MAX_WAKE_MS)
        throw new Violation(
          'hangs',
          `${process} was notified of a request ${this.now() - at} ms ago and has not looked for it`,
        )
  }

  /** Whether a worker has fewer leases than handlers. A lease is in use until its result is stored. */
  private isFree(process: string): boolean {
    let used = this.leases.workerRuns.get(process) ?? 0
    for (const { id, process: holder, kind, isAbandoned, idleSince } of this.leases.leases.values()) {
      const isEnding = !this.leases.runs.has(id) && !(isAbandoned && this.now() - idleSince > SETTLING_MS)
      if (holder === process && kind === 'worker' && isEnding) used++
    }
    return used < WORKER_CONCURRENCY
  }
}

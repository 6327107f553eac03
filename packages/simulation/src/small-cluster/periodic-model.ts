import { Violation } from '../engine/violation.js'
import type { StoreCall } from './store-port.js'

/** The longest time between two calls of a periodic task by a process, with a margin for the tasks before it. */
const MAX_GAP_MS: Readonly<Record<string, number>> = {
  'layers.latest': 30_000,
  'sessions.expire': 90_000,
  'events.expire': 90_000,
  'audit.expire': 90_000,
  'errors.expire': 90_000,
  'breakerEvents.expire': 90_000,
  'layers.expire': 90_000,
  'deadLetters.purge': 90_000,
}

/** The promise that the periodic tasks of a process continue, whatever fails, and that a closed process does nothing any more. */
export class PeriodicModel {
  private readonly now: () => number
  private readonly calledAt = new Map<string, Map<string, number>>()
  private readonly closed = new Set<string>()

  constructor(now: () => number) {
    this.now = now
  }

  onStarted(process: string): void {
    this.calledAt.set(process, new Map(Object.keys(MAX_GAP_MS).map((method) => [method, this.now()])))
  }

  onCalled({ process, method }: StoreCall): void {
    if (this.closed.has(process))
      throw new Violation('housekeeping', `${process} called ${method} after its close`)
    if (MAX_GAP_MS[method] !== undefined) this.calledAt.get(process)?.set(method, this.now())
  }

  onClosed(process: string): void {
    this.closed.add(process)
  }

  /** Checks a process that runs. */
  check(process: string): void {
    for (const [method, at] of this.calledAt.get(process) ?? [])
      if (this.now() - at > Number(MAX_GAP_MS[method]))
        throw new Violation(
          'housekeeping',
          `${process} has not called ${method} for ${this.now() - at} ms, expected ${MAX_GAP_MS[method]}`,
        )
  }
}

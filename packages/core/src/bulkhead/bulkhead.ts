import { bindContext } from '../async-context.js'
import type { Duration } from '../duration.js'

/** Limits how many calls run at the same time. */
export interface BulkheadOptions {
  /** The maximum number of calls that run at the same time. */
  limit: number
  /** The maximum number of calls that wait for a slot; further calls are rejected. @defaultValue 0 */
  queue?: number | undefined
  /** How long a call waits for a slot before it is rejected with BULKHEAD_FULL; 0 never waits. @defaultValue Infinity */
  maxWait?: Duration | undefined
}

/** A fixed number of slots and a bounded first-in-first-out queue of callers that wait for one. */
export class Bulkhead {
  private usedSlots = 0
  /** The callers in the queue, each with a function that runs it in its own async context. */
  private readonly waiting = new Map<() => void, () => void>()
  private readonly limit: number
  private readonly queue: number
  /** How long a caller can wait, in milliseconds. */
  readonly maxWait: number

  constructor(limit: number, queue: number, maxWait = Number.POSITIVE_INFINITY) {
    this.limit = limit
    this.queue = maxWait === 0 ? 0 : queue
    this.maxWait = maxWait
  }

  /** Calls `onSlot` with a slot, now or when one is released; false where the queue is full. */
  acquireSlot(onSlot: () => void): boolean {
    if (this.usedSlots < this.limit) {
      this.usedSlots++
      onSlot()
      return true
    }
    if (this.waiting.size >= this.queue) return false
    this.waiting.set(onSlot, bindContext(onSlot))
    return true
  }

  /** Removes a caller from the queue. */
  cancelWait(onSlot: () => void): void {
    this.waiting.delete(onSlot)
  }

  /** Gives a slot to the next caller in the queue, or frees it. */
  releaseSlot(): void {
    for (const [onSlot, runInItsContext] of this.waiting) {
      this.waiting.delete(onSlot)
      runInItsContext()
      return
    }
    this.usedSlots--
  }
}

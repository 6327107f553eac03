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

/** A caller that waits for a slot. */
export interface SlotWaiter {
  /** The caller has a slot. */
  onSlot(): void
}

/** A fixed number of slots and a bounded first-in-first-out queue of callers that wait for one. */
export class Bulkhead {
  private usedSlots = 0
  /** The callers in the queue, each with a function that runs it in its own async context. */
  private readonly waiting = new Map<SlotWaiter, () => void>()
  private readonly limit: number
  private readonly queue: number
  /** How long a caller can wait, in milliseconds. */
  readonly maxWait: number

  constructor(limit: number, queue: number, maxWait = Infinity) {
    this.limit = limit
    this.queue = maxWait === 0 ? 0 : queue
    this.maxWait = maxWait
  }

  /** Gives the caller a slot, now or when one is released. Returns false where the queue is full. */
  acquireSlot(waiter: SlotWaiter): boolean {
    if (this.usedSlots < this.limit) {
      this.usedSlots++
      waiter.onSlot()
      return true
    }
    if (this.waiting.size >= this.queue) return false
    this.waiting.set(
      waiter,
      bindContext(() => waiter.onSlot()),
    )
    return true
  }

  /** Removes a caller from the queue. */
  cancelWait(waiter: SlotWaiter): void {
    this.waiting.delete(waiter)
  }

  /** Gives a slot to the next caller in the queue, or frees it. */
  releaseSlot(): void {
    for (const [waiter, runInItsContext] of this.waiting) {
      this.waiting.delete(waiter)
      runInItsContext()
      return
    }
    this.usedSlots--
  }
}

import { bindContext } from '../async-context.js'

/** How many calls may run at a time. */
export interface BulkheadOptions {
  /** The calls that may run. */
  limit: number
  /** The calls that may wait for one to end; more are refused. @defaultValue 0 */
  queue?: number
}

/** A fixed number of places. Whoever finds none waits for one, as long as there is room to wait. */
export class Bulkhead {
  private taken = 0
  /** Who waits, each with the function that enters in its own async context and not in that of who made room. */
  private readonly waiting = new Map<() => void, () => void>()
  private readonly limit: number
  private readonly queue: number

  constructor(limit: number, queue: number) {
    this.limit = limit
    this.queue = queue
  }

  /** Calls `enter` with a place, now or when one is free, first come first served; false where there is no room. */
  join(enter: () => void): boolean {
    if (this.taken < this.limit) {
      this.taken++
      enter()
      return true
    }
    if (this.waiting.size >= this.queue) return false
    this.waiting.set(enter, bindContext(enter))
    return true
  }

  /** Gives up waiting. */
  leave(enter: () => void): void {
    this.waiting.delete(enter)
  }

  /** Hands a place to the next who waits, or frees it. */
  free(): void {
    for (const [enter, enterBound] of this.waiting) {
      this.waiting.delete(enter)
      enterBound()
      return
    }
    this.taken--
  }
}

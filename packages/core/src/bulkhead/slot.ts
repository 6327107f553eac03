import { setCallTimer } from '../async-context.js'
import type { Clock } from '../clock.js'
import type { Bulkhead, SlotWaiter } from './bulkhead.js'

/** A call that needs a slot of a bulkhead. */
export interface SlotOwner extends SlotWaiter {
  /** The queue of the bulkhead is full, or the call waited for `maxWait`. */
  onSlotRejected(): void
}

/** The slot that one call holds or waits for. It is in use until the call has ended and all its attempts have settled. */
export class Slot implements SlotWaiter {
  private readonly bulkhead: Bulkhead
  private readonly owner: SlotOwner
  private readonly clock: Clock
  private isHeld = false
  /** The calls of the guarded function that have not settled, awaited or not. */
  private runs = 0
  private isEnded = false
  /** The timer of `maxWait`. */
  private timer: unknown = undefined

  constructor(bulkhead: Bulkhead, owner: SlotOwner, clock: Clock) {
    this.bulkhead = bulkhead
    this.owner = owner
    this.clock = clock
  }

  /** Calls `onSlot` of the owner, now or when a slot is released, or `onSlotRejected`. */
  acquire(): void {
    const { bulkhead, clock, owner } = this
    if (!bulkhead.acquireSlot(this)) owner.onSlotRejected()
    else if (!this.isHeld && bulkhead.maxWait < Infinity)
      this.timer = setCallTimer(clock, () => this.onTimer(), bulkhead.maxWait)
  }

  onSlot(): void {
    this.isHeld = true
    this.clearTimer()
    this.owner.onSlot()
  }

  addRun(): void {
    this.runs++
  }

  removeRun(): void {
    this.runs--
    if (this.isEnded && this.runs === 0) this.release()
  }

  /** The call has ended. Releases the slot once no run of the call is left. */
  end(): void {
    this.isEnded = true
    if (this.runs === 0) this.release()
  }

  /** Releases the slot, or leaves the queue. */
  private release(): void {
    this.clearTimer()
    if (this.isHeld) this.bulkhead.releaseSlot()
    else this.bulkhead.cancelWait(this)
  }

  private onTimer(): void {
    this.timer = undefined
    this.bulkhead.cancelWait(this)
    this.owner.onSlotRejected()
  }

  private clearTimer(): void {
    if (this.timer === undefined) return
    this.clock.clearTimer(this.timer)
    this.timer = undefined
  }
}

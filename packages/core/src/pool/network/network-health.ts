import type { SlotIndexed } from '../indexes/grow-array.js'
import { RecentSlots } from './recent-slots.js'

/** How often (ms) a call is let through to see whether the network is back. */
const PROBE_INTERVAL_MS = 1000

/** Fewer members than these cannot tell the network from themselves. */
const MIN_MEMBERS = 2

/**
 * Whether the network at this end works. It is taken to be down when more than half of the members used within the window
 * have met a local fault since anybody last had an answer; and to be up again with the next answer, or when the window
 * has passed without another fault.
 */
export class NetworkHealth implements SlotIndexed {
  isDown = false
  private readonly usedSlots: RecentSlots
  private readonly faultySlots: RecentSlots
  private readonly windowMs: number
  private lastFaultAt = Number.NEGATIVE_INFINITY
  private probeAt = 0

  constructor(duration: number) {
    this.windowMs = duration
    this.usedSlots = new RecentSlots(duration)
    this.faultySlots = new RecentSlots(duration)
  }

  /** Whether members have met faults that nobody has had an answer after. */
  get hasSuspects(): boolean {
    return this.faultySlots.size > 0
  }

  /** A member was used. */
  recordUse(slot: number, now: number): void {
    this.usedSlots.add(slot, now)
  }

  /** A member has met a local fault; tells whether the network is down by now. */
  recordFault(slot: number, now: number): boolean {
    const { usedSlots, faultySlots } = this
    this.lastFaultAt = now
    usedSlots.add(slot, now)
    faultySlots.add(slot, now)
    const isDownNow =
      this.isDown || (faultySlots.size >= MIN_MEMBERS && faultySlots.size * 2 > usedSlots.size)
    if (isDownNow && !this.isDown) this.probeAt = now + PROBE_INTERVAL_MS
    this.isDown = isDownNow
    return isDownNow
  }

  /** Somebody had an answer. */
  markUp(): void {
    this.isDown = false
    this.faultySlots.clear()
  }

  /** Whether it went up by itself: the window has passed. */
  hasExpired(now: number): boolean {
    return this.isDown && this.lastFaultAt < now - this.windowMs
  }

  /** Whether a call may go out while the network is down, to test it. */
  tryProbe(now: number): boolean {
    if (now < this.probeAt) return false
    this.probeAt = now + PROBE_INTERVAL_MS
    return true
  }

  /** Milliseconds until the next test. */
  retryAfter(now: number): number {
    return Math.max(0, this.probeAt - now)
  }

  clear(slot: number): void {
    this.usedSlots.remove(slot)
    this.faultySlots.remove(slot)
  }

  grow(capacity: number): void {
    this.usedSlots.grow(capacity)
    this.faultySlots.grow(capacity)
  }
}

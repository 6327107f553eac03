import type { SlotIndexed } from '../indexes/grow-array.js'
import { RecentSlots } from './recent-slots.js'

/** The interval at which a call is admitted as a probe while the network is down. */
const PROBE_INTERVAL_MS = 1000

/** With fewer faulty members, a fault of the network cannot be distinguished from a fault of the member. */
const MIN_MEMBERS = 2

/**
 * Whether the local network works. It counts as down when more than half of the members used within the window have had a
 * local fault since the last response of any member. It counts as up again at the next response, or when the window has
 * passed without another fault.
 */
export class NetworkHealth implements SlotIndexed {
  isDown = false
  private readonly usedSlots: RecentSlots
  private readonly faultySlots: RecentSlots
  private readonly windowMs: number
  private lastFaultAt = Number.NEGATIVE_INFINITY
  private probeAt = 0

  constructor(windowMs: number) {
    this.windowMs = windowMs
    this.usedSlots = new RecentSlots(windowMs)
    this.faultySlots = new RecentSlots(windowMs)
  }

  /** Whether members have had local faults since the last response. */
  get hasSuspects(): boolean {
    return this.faultySlots.size > 0
  }

  /** Records the use of a member. */
  recordUse(slot: number, now: number): void {
    this.usedSlots.add(slot, now)
  }

  /** Records a local fault of a member; returns whether the network is now down. */
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

  /** Marks the network as up, after a response or when the window has passed. */
  markUp(): void {
    this.isDown = false
    this.faultySlots.clear()
  }

  /** Whether the network is marked as down, but the window has passed without another fault. */
  hasExpired(now: number): boolean {
    return this.isDown && this.lastFaultAt < now - this.windowMs
  }

  /** Whether a call can start as a probe while the network is down. */
  tryProbe(now: number): boolean {
    if (now < this.probeAt) return false
    this.probeAt = now + PROBE_INTERVAL_MS
    return true
  }

  /** The milliseconds until the next probe. */
  timeUntilProbe(now: number): number {
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

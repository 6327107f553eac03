import type { Growing } from '../indexes/grown.js'
import { Recent } from './recent.js'

/** How often (ms) a call is let through to see whether the network is back. */
const TEST_EVERY = 1000

/** Fewer members than these cannot tell the network from themselves. */
const LEAST = 2

/**
 * Whether the network at this end works. It is taken to be down when more than half of the members used within the window
 * have met a local fault since anybody last had an answer; and to be up again with the next answer, or when the window
 * has passed without another fault.
 */
export class Network implements Growing {
  down = false
  private readonly used: Recent
  private readonly faulty: Recent
  private readonly duration: number
  private lastFault = Number.NEGATIVE_INFINITY
  private testAt = 0

  constructor(duration: number) {
    this.duration = duration
    this.used = new Recent(duration)
    this.faulty = new Recent(duration)
  }

  /** Whether members have met faults that nobody has had an answer after. */
  get suspect(): boolean {
    return this.faulty.size > 0
  }

  /** A member was used. */
  use(slot: number, now: number): void {
    this.used.add(slot, now)
  }

  /** A member has met a local fault; tells whether the network is down by now. */
  fault(slot: number, now: number): boolean {
    const { used, faulty } = this
    this.lastFault = now
    used.add(slot, now)
    faulty.add(slot, now)
    const down = this.down || (faulty.size >= LEAST && faulty.size * 2 > used.size)
    if (down && !this.down) this.testAt = now + TEST_EVERY
    this.down = down
    return down
  }

  /** Somebody had an answer. */
  up(): void {
    this.down = false
    this.faulty.clear()
  }

  /** Whether it went up by itself: the window has passed. */
  isOver(now: number): boolean {
    return this.down && this.lastFault < now - this.duration
  }

  /** Whether a call may go out while the network is down, to test it. */
  tests(now: number): boolean {
    if (now < this.testAt) return false
    this.testAt = now + TEST_EVERY
    return true
  }

  /** Milliseconds until the next test. */
  retryAfter(now: number): number {
    return Math.max(0, this.testAt - now)
  }

  forget(slot: number): void {
    this.used.forget(slot)
    this.faulty.forget(slot)
  }

  grow(capacity: number): void {
    this.used.grow(capacity)
    this.faulty.grow(capacity)
  }
}

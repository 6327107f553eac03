import type { Random } from 'holdfast'
import { EventQueue, type ScheduledEvent } from './event-queue.js'
import { runMicrotasks } from './microtasks.js'

/** More events than this at one moment never end. */
const MAX_EVENTS_AT_ONCE = 100_000

/**
 * Virtual time and everything that waits for it. Timers and completions of simulated input and output are events; the
 * scheduler runs one after another and lets all promises settle in between. The order of events at the same time comes from the
 * seed, so that the seed alone decides about every interleaving.
 */
export class Scheduler {
  /** Virtual milliseconds since the start. */
  now = 0
  /** How many events have run. */
  eventCount = 0
  private readonly queue = new EventQueue()
  private readonly random: Random

  constructor(random: Random) {
    this.random = random
  }

  /** Runs `fn` when `ms` have passed. */
  schedule(ms: number, fn: () => void): ScheduledEvent {
    const event = { dueAt: this.now + (ms > 0 ? ms : 0), rank: this.random(), fn, isCancelled: false }
    if (event.dueAt < Infinity) this.queue.push(event)
    return event
  }

  /** Drops an event. Does nothing if it has run. */
  cancel(event: ScheduledEvent): void {
    event.isCancelled = true
  }

  /** Resolves when `ms` have passed. */
  delay(ms: number): Promise<void> {
    return new Promise((resolve) => this.schedule(ms, resolve))
  }

  /**
   * Runs events until the given time, and `onEvent` after each of them. Must be called directly from the event loop
   * (`runInMacrotask`).
   */
  runUntil(end: number, onEvent?: () => void): void {
    runMicrotasks()
    let sameTimeCount = 0
    for (
      let event = this.queue.peek();
      event !== undefined && event.dueAt <= end;
      event = this.queue.peek()
    ) {
      this.queue.pop()
      sameTimeCount = event.dueAt > this.now ? 0 : sameTimeCount + 1
      if (sameTimeCount > MAX_EVENTS_AT_ONCE) throw new Error(`time does not advance after ${this.now} ms`)
      this.now = event.dueAt
      this.eventCount++
      event.fn()
      runMicrotasks()
      onEvent?.()
    }
    this.now = Math.max(this.now, end)
  }
}

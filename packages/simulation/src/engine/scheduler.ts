import type { Random } from 'holdfast'
import { EventQueue, type ScheduledEvent } from './event-queue.js'
import { runMicrotasks } from './microtasks.js'

/** The length of the periods whose events are counted. */
const PERIOD_MS = 1000

/** A program that needs more events than this in a virtual second has a loop. The busiest second of a seed has about 1,000. */
const MAX_EVENTS_PER_PERIOD = 20_000

/** Time does not advance, or hardly: a timer without a delay starts itself again, for example. */
export class EventLimitError extends Error {
  constructor(now: number) {
    super(
      `more than ${MAX_EVENTS_PER_PERIOD} events between ${now - (now % PERIOD_MS)} ms and ${now} ms: time does not advance`,
    )
    this.name = 'EventLimitError'
  }
}

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
  /** The number of events in the busiest period. */
  maxPeriodCount = 0
  private readonly queue = new EventQueue()
  private readonly random: Random

  constructor(random: Random) {
    this.random = random
  }

  /** Runs `fn` when `ms` have passed. */
  schedule(ms: number, fn: () => void): ScheduledEvent {
    const event = { dueAt: this.now + (ms > 0 ? ms : 0), rank: this.random(), fn, isDone: false }
    if (event.dueAt < Infinity) this.queue.push(event)
    return event
  }

  /** Drops an event. Does nothing if it has run. */
  cancel(event: ScheduledEvent): void {
    event.isDone = true
  }

  /** Resolves when `ms` have passed. */
  delay(ms: number): Promise<void> {
    return new Promise((resolve) => this.schedule(ms, resolve))
  }

  /**
   * Runs events until the given time, and `onEvent` after each of them. Must be called directly from the event loop
   * (`runInMacrotask`).
   *
   * @throws EventLimitError if time hardly advances
   */
  runUntil(end: number, onEvent?: () => void): void {
    runMicrotasks()
    let periodEnd = 0
    let periodStartCount = 0
    for (let event = this.queue.popUntil(end); event !== undefined; event = this.queue.popUntil(end)) {
      event.isDone = true
      this.now = event.dueAt
      this.eventCount++
      if (event.dueAt >= periodEnd) {
        periodEnd = event.dueAt - (event.dueAt % PERIOD_MS) + PERIOD_MS
        this.maxPeriodCount = Math.max(this.maxPeriodCount, this.eventCount - periodStartCount)
        periodStartCount = this.eventCount
      } else if (this.eventCount - periodStartCount > MAX_EVENTS_PER_PERIOD)
        throw new EventLimitError(this.now)
      event.fn()
      runMicrotasks()
      onEvent?.()
    }
    this.now = Math.max(this.now, end)
  }
}

import { type AsyncScope, captureContext, setSharedTimer } from '../async-context.js'
import { type Clock, MAX_EARLY_MS, readSetTimeout } from '../clock.js'
import { reportOnce } from '../report.js'

/** An entry of a {@link DeadlineQueue}. Only the queue changes the links. */
export interface DeadlineEntry {
  /** The time from which the timeout is measured. */
  startedAt: number
  prev: DeadlineEntry | undefined
  next: DeadlineEntry | undefined
  /** The queue that holds the entry; undefined once it expired or was removed. */
  queue: DeadlineQueue | undefined
  /** The async context of the caller, in which `onDeadline` is called, because the shared timer has no context. */
  scope: AsyncScope | undefined
  /** Called when the deadline has passed, after the entry left the queue. */
  onDeadline(dueAt: number): void
}

/** The delay of a queue's first timer. Most calls have ended by then, and no exact timer is needed. */
const FIRST_CHECK_MS = 5

/**
 * Deadlines of calls that all have the same timeout. The first to be added is the first to expire, so the queue is a linked
 * list with one timer. The first timer fires soon and usually finds an empty queue; a second one is set for the first entry
 * that is due and cleared with the last entry, so that it never keeps a process alive.
 */
export class DeadlineQueue {
  private readonly clock: Clock
  private readonly timeout: number
  private head: DeadlineEntry | undefined = undefined
  private tail: DeadlineEntry | undefined = undefined
  private timer: unknown = undefined
  /** Whether the timer is set for the first entry that is due, and no longer for the first check. */
  private isTimerExact = false
  /** When the timer is due. */
  private timerDueAt = 0
  /** The `setTimeout` that the timer was set with. Where another one is in use now, the timer never fires. */
  private setTimeoutInUse: unknown = undefined

  constructor(clock: Clock, timeout: number) {
    this.clock = clock
    this.timeout = timeout
  }

  /** Adds an entry that expires one timeout after `now`. */
  add(entry: DeadlineEntry, now: number): void {
    entry.startedAt = now
    entry.queue = this
    entry.scope = captureContext()
    entry.prev = this.tail
    if (this.tail === undefined) this.head = entry
    else this.tail.next = entry
    this.tail = entry
    if (this.timer === undefined || this.setTimeoutInUse !== readSetTimeout())
      this.setTimer(Math.min(this.timeout, FIRST_CHECK_MS), now)
  }

  /** Removes an entry; does nothing where it is not in this queue. */
  remove(entry: DeadlineEntry): void {
    if (entry.queue !== this) return
    entry.queue = undefined
    const { prev, next } = entry
    if (prev === undefined) this.head = next
    else prev.next = next
    if (next === undefined) this.tail = prev
    else next.prev = prev
    entry.prev = undefined
    entry.next = undefined
    if (this.head === undefined && this.isTimerExact) this.clearTimer()
  }

  private readonly onTimer = (): void => {
    // `timer` stays set until the end, so that calls that an expired one starts set none, which could be later than the next deadline.
    this.isTimerExact = false
    const { clock, timeout } = this
    let now = clock.now()
    // A timer that fires far too early means that only the platform's timers are faked, and not its clock.
    if (this.timerDueAt - now > MAX_EARLY_MS) now = this.timerDueAt
    for (let first = this.head; first !== undefined && first.startedAt + timeout <= now; first = this.head) {
      this.remove(first)
      try {
        if (first.scope === undefined) first.onDeadline(first.startedAt + timeout)
        else first.scope.runInAsyncScope(first.onDeadline, first, first.startedAt + timeout)
      } catch (error) {
        reportOnce('a deadline', first, error) // deadlines of other calls must still expire
      }
    }
    this.timer = undefined
    if (this.head === undefined) return
    this.isTimerExact = true
    this.setTimer(this.head.startedAt + timeout - now, now)
  }

  private setTimer(ms: number, now: number): void {
    this.timerDueAt = now + ms
    this.setTimeoutInUse = readSetTimeout()
    this.timer = setSharedTimer(this.clock, this.onTimer, ms)
  }

  private clearTimer(): void {
    this.clock.clearTimer(this.timer)
    this.timer = undefined
    this.isTimerExact = false
  }
}

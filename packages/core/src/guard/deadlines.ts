import { type AsyncScope, captureContext, setSharedTimer } from '../async-context.js'
import { type Clock, EARLY_MS } from '../clock.js'

/** Something that ends when its time is up. The links are the list's. */
export abstract class Timed {
  /** When it began, from which its time is counted. */
  startedAt = 0
  /** @internal */
  before: Timed | undefined = undefined
  /** @internal */
  after: Timed | undefined = undefined
  /** @internal The list it is in. */
  list: Deadlines | undefined = undefined
  /** @internal The async context of its caller: the timer is shared and has none. */
  scope: AsyncScope | undefined = undefined

  /** @internal Its time was up at `due`; the list has forgotten it. */
  abstract expire(due: number): void
}

/** The first look at a list, in milliseconds: most calls have ended by then and need no timer of their own. */
const FIRST_LOOK = 5

/**
 * The deadlines of calls that all have the same time, first come first due, under one timer: adding and removing costs
 * a few links. The timer first fires soon, finds most lists empty and is gone; only where calls are still there is it
 * set for when the first is due, and it is cleared with the last of them, so that it never keeps a process alive.
 */
export class Deadlines {
  private readonly clock: Clock
  private readonly duration: number
  private head: Timed | undefined = undefined
  private tail: Timed | undefined = undefined
  private timer: unknown = undefined
  private long = false
  /** When the timer is due. */
  private timerDue = 0

  constructor(clock: Clock, duration: number) {
    this.clock = clock
    this.duration = duration
  }

  /** Ends `timed` after the list's time, counted from `now`. */
  add(timed: Timed, now: number): void {
    timed.startedAt = now
    timed.list = this
    timed.scope = captureContext()
    timed.before = this.tail
    if (this.tail === undefined) this.head = timed
    else this.tail.after = timed
    this.tail = timed
    if (this.timer === undefined) this.arm(Math.min(this.duration, FIRST_LOOK), now)
  }

  /** Forgets `timed`, if it is still here. */
  remove(timed: Timed): void {
    if (timed.list !== this) return
    timed.list = undefined
    const { before, after } = timed
    if (before === undefined) this.head = after
    else before.after = after
    if (after === undefined) this.tail = before
    else after.before = before
    timed.before = undefined
    timed.after = undefined
    if (this.head === undefined && this.long) this.disarm()
  }

  private readonly look = (): void => {
    this.timer = undefined
    this.long = false
    const { clock, duration } = this
    let now = clock.now()
    // A timer that is far too early means that only the platform's timers are faked, and not its clock.
    if (this.timerDue - now > EARLY_MS) now = this.timerDue
    for (let first = this.head; first !== undefined && first.startedAt + duration <= now; first = this.head) {
      this.remove(first)
      if (first.scope === undefined) first.expire(first.startedAt + duration)
      else first.scope.runInAsyncScope(first.expire, first, first.startedAt + duration)
    }
    // What expired may have begun new calls, and one of those may have set the timer.
    if (this.head === undefined || this.timer !== undefined) return
    this.long = true
    this.arm(this.head.startedAt + duration - now, now)
  }

  private arm(ms: number, now: number): void {
    this.timerDue = now + ms
    this.timer = setSharedTimer(this.clock, this.look, ms)
  }

  private disarm(): void {
    this.clock.clearTimer(this.timer)
    this.timer = undefined
    this.long = false
  }
}

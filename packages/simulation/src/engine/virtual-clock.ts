import type { Clock } from 'holdfast'
import type { ScheduledEvent } from './event-queue.js'
import type { Scheduler } from './scheduler.js'

/** The wall time at which simulations start. */
export const START_WALL_MS = Date.UTC(2026, 0, 1)

/** Timers fire this much late, so that the clock has reached their time. */
const RESOLUTION_MS = 0.001

/**
 * The clock of one node on the virtual time of a scheduler. It can drift, its wall time can step, and it can be stopped: then no
 * timer fires any more, as in a process that has died.
 */
export class VirtualClock implements Clock {
  private readonly scheduler: Scheduler
  /** The clock's time at the last change of its rate, and the scheduler's time then. */
  private baseLocal = 0
  private baseGlobal: number
  /** Local milliseconds per virtual millisecond. */
  private rate = 1
  private wallOffset = START_WALL_MS
  private isStopped = false
  private readonly onTimer: () => void
  /** The number of timers that have neither fired nor been cleared. */
  timerCount = 0
  /** How often the speed of the clock has changed. */
  rateChangeCount = 0
  /** How often the wall time has been set forward or back since the process started. */
  wallStepCount = 0

  /** @param onTimer - is called before each timer that fires */
  constructor(scheduler: Scheduler, onTimer: () => void = () => {}) {
    this.scheduler = scheduler
    this.onTimer = onTimer
    this.baseGlobal = scheduler.now
    this.wallOffset += scheduler.now
  }

  now(): number {
    return this.baseLocal + (this.scheduler.now - this.baseGlobal) * this.rate
  }

  wall(): number {
    return Math.round(this.wallOffset + this.now())
  }

  setTimer(fn: () => void, ms: number): ScheduledEvent {
    // A drift that changes while a timer waits does not change the timer, because drifts are small. No timer fires too early, not
    // even by a rounding error.
    const delay = ms > 0 ? ms / this.rate + RESOLUTION_MS : 0
    this.timerCount++
    return this.scheduler.schedule(delay, () => {
      this.timerCount--
      if (this.isStopped) return
      this.onTimer()
      fn()
    })
  }

  clearTimer(handle: unknown): void {
    const event = handle as ScheduledEvent | undefined
    if (event === undefined || event.isDone) return
    this.timerCount--
    this.scheduler.cancel(event)
  }

  /** Moves the wall time forward or back, as an operator or a time server does. */
  stepWall(ms: number): void {
    if (ms === 0) return
    this.wallStepCount++
    this.wallOffset += ms
  }

  /** Sets the wall time right again. */
  correctWall(): void {
    this.stepWall(START_WALL_MS + this.scheduler.now - this.now() - this.wallOffset)
  }

  /** Changes the speed of the clock: 1.0001 is one second in 10,000 too fast. */
  drift(rate: number): void {
    this.baseLocal = this.now()
    this.baseGlobal = this.scheduler.now
    if (rate !== this.rate) this.rateChangeCount++
    this.rate = rate
  }

  /** No timer fires from now on. */
  stop(): void {
    this.isStopped = true
  }
}

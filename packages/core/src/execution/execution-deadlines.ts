import { type AsyncScope, setCallTimer } from '../async-context.js'
import type { HoldfastError } from '../errors.js'
import type { DeadlineEntry, DeadlineQueue } from '../timeout/deadline-queue.js'
import type { AttemptLog } from './attempt-log.js'
import { createAttemptTimeoutError, createTotalTimeoutError } from './errors.js'
import type { Executor } from './executor.js'
import type { CallTimeouts } from './hooks.js'

/** What the deadlines need of their execution. */
export interface TimedExecution extends Pick<DeadlineEntry, 'onDeadline'> {
  readonly executor: Executor
  /** The number of the last attempt. */
  readonly number: number
  readonly log: AttemptLog | undefined
}

/** The deadlines of one execution: that of the call, and that of each attempt. Only the one that expires first is started. */
export class ExecutionDeadlines implements DeadlineEntry {
  startedAt = 0
  prev: DeadlineEntry | undefined = undefined
  next: DeadlineEntry | undefined = undefined
  queue: DeadlineQueue | undefined = undefined
  scope: AsyncScope | undefined = undefined
  /** When the call must have ended. */
  total = Infinity
  private readonly execution: TimedExecution
  private timeouts: CallTimeouts
  /** The timer of a deadline that is in no queue. */
  declare private timer: unknown

  constructor(execution: TimedExecution, timeouts: CallTimeouts) {
    this.execution = execution
    this.timeouts = timeouts
  }

  /** How long an attempt can take; undefined for any time. */
  get lease(): number | undefined {
    const { attemptTimeout } = this.timeouts
    return attemptTimeout < Infinity ? attemptTimeout : undefined
  }

  /** Sets the start of the call, from which the total timeout is measured. */
  setStart(beganAt: number, timeouts = this.timeouts): void {
    this.timeouts = timeouts
    this.total = beganAt + timeouts.totalTimeout
  }

  /** Starts the deadline of an attempt that starts now, or that of the call where it expires earlier. */
  start(now: number): void {
    const { execution, total, timeouts } = this
    const { attemptDeadlines, totalDeadlines, settings } = execution.executor
    const { attemptTimeout, totalTimeout } = timeouts
    const dueAt = Math.min(now + attemptTimeout, total)
    if (dueAt === Infinity) return
    // A queue holds only deadlines of the guard's own timeouts.
    if (dueAt < total && attemptTimeout === settings.attemptTimeout) attemptDeadlines.add(this, now)
    else if (dueAt === now + totalTimeout && totalTimeout === settings.totalTimeout)
      totalDeadlines.add(this, now)
    else this.timer = setCallTimer(settings.clock, () => this.onDeadline(dueAt), dueAt - now)
  }

  onDeadline(dueAt: number): void {
    this.timer = undefined
    this.execution.onDeadline(dueAt)
  }

  clear(): void {
    if (this.queue !== undefined) this.queue.remove(this)
    if (this.timer === undefined) return
    this.execution.executor.settings.clock.clearTimer(this.timer)
    this.timer = undefined
  }

  /** Creates the error of a deadline that has passed: that of the call or, where `dueAt` is earlier, that of the attempt. */
  createError(dueAt: number): HoldfastError {
    const { executor, number, log } = this.execution
    const { name } = executor.settings
    const { attemptTimeout, totalTimeout } = this.timeouts
    return dueAt < this.total
      ? createAttemptTimeoutError(name, number, attemptTimeout)
      : createTotalTimeoutError(name, totalTimeout, log?.createCauseOption())
  }
}

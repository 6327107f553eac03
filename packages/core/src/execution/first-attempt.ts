import { type AsyncScope, runInContext } from '../async-context.js'
import type { AttemptContext } from '../attempt/attempt.js'
import { approximateStartTime } from '../clock.js'
import { createDeferred, type Deferred } from '../deferred.js'
import type { Member } from '../pool/members/member.js'
import { unwrapStopRetrying } from '../retry/decide.js'
import { sessionSequence } from '../session/session.js'
import type { DeadlineEntry, DeadlineQueue } from '../timeout/deadline-queue.js'
import type { GuardedFunction } from './call.js'
import { Execution } from './execution.js'
import type { Executor } from './executor.js'

/** Follows first attempts on behalf of a layer above the guard, such as the runtime. */
export interface FirstAttemptTracker {
  /** The pool member that the attempt gets. */
  readonly member?: Member | undefined
  onStart(attempt: FirstAttempt<unknown>): void
  /** The function returned a value; the execution is complete. */
  onSuccess(attempt: FirstAttempt<unknown>): void
  /** Called when the attempt failed or was cancelled. Returns the execution that continues, or undefined to end with the error. */
  createExecution(attempt: FirstAttempt<unknown>): Execution<unknown> | undefined
}

/**
 * A first attempt that can end before its function settles: by a deadline, or because a tracker cancels it. Most calls need
 * nothing else, so the object is small. An attempt that fails continues as an {@link Execution}.
 */
export class FirstAttempt<T> implements Deferred<T>, DeadlineEntry {
  resolve!: (value: T | PromiseLike<T>) => void
  reject!: (error: unknown) => void
  startedAt = 0
  prev: DeadlineEntry | undefined = undefined
  next: DeadlineEntry | undefined = undefined
  queue: DeadlineQueue | undefined = undefined
  scope: AsyncScope | undefined = undefined
  readonly fn: GuardedFunction
  private readonly executor: Executor
  private readonly self: unknown
  private readonly args: unknown[] | undefined
  private readonly context: AttemptContext | undefined
  private readonly epoch: number
  private readonly sequence = sessionSequence()
  private isEnded = false
  declare private tracker: FirstAttemptTracker | undefined

  constructor(
    executor: Executor,
    fn: GuardedFunction,
    self: unknown,
    args: unknown[] | undefined,
    context: AttemptContext | undefined,
    epoch: number,
    tracker: FirstAttemptTracker | undefined,
  ) {
    this.executor = executor
    this.fn = fn
    this.self = self
    this.args = args
    this.context = context
    this.epoch = epoch
    if (tracker !== undefined) this.tracker = tracker
  }

  start(): Promise<T> {
    const { executor } = this
    const { clock } = executor.settings
    if (executor.hasDeadline) executor.firstDeadlines.add(this, clock.now())
    else this.startedAt = approximateStartTime(clock)
    this.tracker?.onStart(this as FirstAttempt<unknown>)
    return createDeferred(this)
  }

  awaitResult(promise: Promise<T>): void {
    promise.then(this.onSuccess.bind(this), this.onFailure.bind(this))
  }

  onDeadline(dueAt: number): void {
    this.createExecution()?.onDeadline(dueAt)
  }

  /**
   * Ends the attempt at once with `reason`, in the async context of its caller where that was saved by the deadline or when the
   * function read its signal.
   */
  cancel(reason: unknown): void {
    if (this.isEnded) return
    runInContext(this.scope ?? this.context?.scope, () => {
      const execution = this.createExecution()
      if (execution !== undefined) execution.cancel(reason, 'cancelled')
      else {
        this.reject(reason)
        this.context?.abort(reason)
      }
    })
  }

  private onSuccess(value: T): void {
    const { queue, executor, epoch, tracker } = this
    if (this.isEnded) return
    this.isEnded = true
    queue?.remove(this)
    executor.recordSuccess(epoch)
    tracker?.onSuccess(this as FirstAttempt<unknown>)
    this.resolve(value)
  }

  private onFailure(error: unknown): void {
    if (this.isEnded) return
    const execution = this.createExecution()
    if (execution !== undefined) Execution.continueWith(execution, 1, true, error)
    else this.reject(unwrapStopRetrying(error))
  }

  /** Creates the execution that continues this attempt and settles its promise. */
  private createExecution(): Execution<T> | undefined {
    const { executor, fn, self, args, context, epoch, startedAt, sequence, tracker } = this
    this.isEnded = true
    this.queue?.remove(this)
    const execution = (
      tracker === undefined
        ? new Execution(executor, fn, self, args, executor.settings.retry, undefined)
        : tracker.createExecution(this as FirstAttempt<unknown>)
    ) as Execution<T> | undefined
    if (execution === undefined) return undefined
    execution.resolve = this.resolve
    execution.reject = this.reject
    return execution.resumeFirstAttempt(context, epoch, startedAt, sequence)
  }
}

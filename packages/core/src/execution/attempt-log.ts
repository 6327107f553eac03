import type { AttemptRun } from '../attempt/attempt.js'
import type { Classification } from '../classify/index.js'
import { wallOffset } from '../clock.js'
import type { CompiledRetryPolicy } from '../retry/options.js'
import { isExhausted, type StopReason } from '../retry/stop-reason.js'
import {
  type AttemptRecord,
  attachSession,
  hasExhaustedSession,
  innerSessions,
  type Session,
} from '../session/session.js'
import { type ExecutionEvent, emitEvent } from './events.js'
import type { Executor } from './executor.js'
import type { ExecutionHooks } from './hooks.js'

type Writable<R> = { -readonly [K in keyof R]: R[K] }

/** What the log reads of its execution. */
export interface LoggedExecution {
  readonly executor: Executor
  readonly hooks?: ExecutionHooks | undefined
  readonly policy: CompiledRetryPolicy
  readonly context?: unknown
  /** The number of the last attempt. */
  readonly number: number
  /** The delay before the last attempt. */
  readonly delay: number
  readonly run: AttemptRun | undefined
}

/**
 * The records of an execution's attempts, with which it reports them to hooks and listeners. Created with the first failure, or
 * at the end where a success is recorded too.
 */
export class AttemptLog {
  readonly records: AttemptRecord[] = []
  /** When the last attempt ended. */
  endedAt = 0
  /** Whether the call has ended, or would end now, with an error. */
  hasThrown = false
  /** What the last failed attempt threw or returned, or the error that ended the call without an attempt. */
  result: unknown = undefined
  private readonly execution: LoggedExecution
  /** The difference between the wall clock and the monotonic clock. */
  private wallOffset: number | undefined = undefined
  private stopped: StopReason = 'succeeded'
  declare private nestedSessions: Session[] | undefined

  constructor(execution: LoggedExecution) {
    this.execution = execution
  }

  /** Appends a record and returns the attempt's duration. */
  append(
    run: AttemptRun,
    outcome: AttemptRecord['outcome'],
    hasThrown: boolean,
    result: unknown,
    classification: Classification | undefined,
  ): number {
    const { executor, delay } = this.execution
    const { clock, statusOf } = executor.settings
    const { number, startedAt, context, selection } = run
    this.endedAt = clock.now()
    this.wallOffset ??= wallOffset(clock, this.endedAt)
    const duration = this.endedAt - startedAt
    const timestamp = Math.round(startedAt + this.wallOffset)
    // Most records need no further fields, and an object literal is cheaper than fields added later.
    const record: Writable<AttemptRecord> = hasThrown
      ? { number, timestamp, delay, duration, outcome, error: result }
      : { number, timestamp, delay, duration, outcome }
    const statusCode = classification?.httpStatus ?? statusOf?.(result)
    if (statusCode !== undefined) record.statusCode = statusCode
    if (selection !== undefined) record.memberId = selection.member.id
    if (context?.notes !== undefined) record.context = context.notes
    this.records.push(record)
    const nestedSessions = innerSessions(result, executor, run.sequence)
    if (nestedSessions.length > 0) (this.nestedSessions ??= []).push(...nestedSessions)
    return duration
  }

  /** Appends a failed call of the function, and returns its duration. */
  appendFailure(
    run: AttemptRun,
    hasThrown: boolean,
    result: unknown,
    classification: Classification | undefined,
  ): number {
    return this.append(
      run,
      classification?.kind === 'timeout' ? 'timeout' : 'failure',
      hasThrown,
      result,
      classification,
    )
  }

  /** Records and reports the failure of the current attempt. */
  onAttemptFailed(hasThrown: boolean, result: unknown, classification: Classification | undefined): void {
    const { executor, hooks, run } = this.execution
    const duration = this.appendFailure(run as AttemptRun, hasThrown, result, classification)
    this.hasThrown = hasThrown
    this.result = result
    hooks?.onAttemptFailed(hasThrown, result, classification)
    if (executor.hasListeners)
      this.emit('attempt_failed', 0, { duration, memberId: run?.selection?.member.id })
  }

  /**
   * Records a first attempt that was rejected before it started. Records have one outcome, `circuit_open`, for every rejection: also
   * by a bulkhead or a pool.
   */
  appendRejection(error: unknown): void {
    const timestamp = this.execution.executor.settings.clock.wall()
    this.records.push({ number: 1, timestamp, delay: 0, duration: 0, outcome: 'circuit_open', error })
    this.recordError(error)
  }

  /** Sets the error that ends the call without an attempt that threw it. */
  recordError(error: unknown): void {
    this.hasThrown = true
    this.result = error
  }

  /** Reports that the next attempt starts after `delay`. */
  onRetryScheduled(delay: number): void {
    const { executor, hooks, policy } = this.execution
    hooks?.onRetryScheduled(delay)
    if (executor.hasListeners) this.emit('retry_scheduled', 1, { maxAttempts: policy.maxAttempts, delay })
  }

  /** Reports the end of a call without success, and attaches the session to its error. */
  onSettled(stopped: StopReason): PromiseLike<unknown> | undefined {
    const { hasThrown, result, execution } = this
    const { executor, policy, run, hooks } = execution
    this.stopped = stopped
    if (hasThrown) {
      const hasExhausted =
        isExhausted(stopped, policy.maxAttempts) || hasExhaustedSession(result, executor, run?.sequence ?? 0)
      attachSession(result, this.createSession(), executor, hasExhausted)
    }
    if (executor.hasListeners) this.emit('gave_up', 0, { stopped })
    return hooks?.onSettled(stopped, result)
  }

  /** Creates the session of the call. */
  createSession(): Writable<Session> {
    const { records: attempts, nestedSessions, stopped, execution } = this
    const { name } = execution.executor.settings
    const success = stopped === 'succeeded'
    const session: Writable<Session> =
      name === undefined ? { attempts, success, stopped } : { operation: name, attempts, success, stopped }
    if (nestedSessions !== undefined) session.inner = nestedSessions
    return session
  }

  /** Creates the `cause` option with the last error, also where an unwanted value came after it. */
  createCauseOption(): { cause?: unknown } {
    const failed = this.records.findLast((record) => 'error' in record)
    return failed === undefined ? {} : { cause: failed.error }
  }

  /** Emits an event about the last failure; `offset` is 1 where its attempt is the next one. */
  private emit(type: ExecutionEvent['type'], offset: 0 | 1, fields: object): void {
    const { hasThrown, result, execution } = this
    const { executor, number, context } = execution
    const outcome = hasThrown ? { error: result } : { value: result }
    emitEvent(executor, type, number + offset, context, { ...outcome, ...fields })
  }
}

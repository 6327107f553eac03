import type { AttemptRun } from '../attempt/attempt.js'
import type { Classification } from '../classify/index.js'
import { wallOffset } from '../clock.js'
import type { StopReason } from '../retry/decide.js'
import { type AttemptRecord, innerSessions, type Session } from '../session/session.js'
import type { Executor } from './executor.js'

type Writable<R> = { -readonly [K in keyof R]: R[K] }

/** The records of an execution's attempts. Created with the first failure, or at the end where a success is recorded too. */
export class AttemptLog {
  readonly records: AttemptRecord[] = []
  /** When the last attempt ended. */
  endedAt = 0
  /** The difference between the wall clock and the monotonic clock. */
  private wallOffset: number | undefined = undefined
  declare private inner: Session[] | undefined

  /** Appends a record and returns the attempt's duration. Sessions with a number above `sequence` began inside the attempt. */
  append(
    executor: Executor,
    run: AttemptRun,
    delay: number,
    outcome: AttemptRecord['outcome'],
    threw: boolean,
    result: unknown,
    known: Classification | undefined,
    sequence: number,
  ): number {
    const { clock } = executor.settings
    const { number, startedAt, context, selection } = run
    this.endedAt = clock.now()
    this.wallOffset ??= wallOffset(clock, this.endedAt)
    const duration = this.endedAt - startedAt
    const timestamp = Math.round(startedAt + this.wallOffset)
    // Most records need no further fields, and an object literal is cheaper than fields added later.
    const record: Writable<AttemptRecord> = threw
      ? { number, timestamp, delay, duration, outcome, error: result }
      : { number, timestamp, delay, duration, outcome }
    if (known?.httpStatus !== undefined) record.statusCode = known.httpStatus
    if (selection !== undefined) record.memberId = selection.member.id
    if (context?.notes !== undefined) record.context = context.notes
    this.records.push(record)
    const inner = innerSessions(result, executor, sequence)
    if (inner.length > 0) this.inner = [...(this.inner ?? []), ...inner]
    return duration
  }

  /** Appends the record of a first attempt that was rejected before it started. */
  appendRejection(executor: Executor, error: unknown): void {
    const timestamp = executor.settings.clock.wall()
    this.records.push({ number: 1, timestamp, delay: 0, duration: 0, outcome: 'circuit_open', error })
  }

  /** Creates the session of the execution. */
  createSession(executor: Executor, stopped: StopReason): Writable<Session> {
    const { records: attempts, inner } = this
    const { name } = executor.settings
    const success = stopped === 'succeeded'
    const session: Writable<Session> =
      name === undefined ? { attempts, success, stopped } : { operation: name, attempts, success, stopped }
    if (inner !== undefined) session.inner = inner
    return session
  }

  /** The last error as a `cause` option, also where an unwanted value came after it. */
  lastError(): { cause?: unknown } {
    const failed = this.records.findLast((record) => 'error' in record)
    return failed === undefined ? {} : { cause: failed.error }
  }
}

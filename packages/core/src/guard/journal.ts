import type { Classification } from '../classify/index.js'
import { wallAhead } from '../clock.js'
import type { Pick } from '../pool/protocol.js'
import type { StopReason } from '../retry/decide.js'
import type { Flight } from './attempt.js'
import type { GuardCore } from './core.js'
import { Timed } from './deadlines.js'
import type { GuardEvent } from './events.js'
import { type AttemptRecord, innerSessions, keepSession, type Session } from './session.js'

/** One call of the function: an attempt, or where attempts are hedged a part of one. */
export interface Leg {
  readonly number: number
  readonly startedAt: number
  /** What the function was told, where it was told anything. */
  readonly flight: Flight | undefined
  /** Where it went, and whether its outcome spoke of that member, once that is known. */
  readonly pick: Pick | undefined
  elsewhere: boolean | undefined
}

type Writable<R> = { -readonly [K in keyof R]: R[K] }

/** What happened to a call so far: its attempts, its last result, and telling of it. */
export abstract class Journal extends Timed {
  readonly guard: GuardCore
  readonly context: unknown
  number = 0
  /** The wait before the present attempt. */
  protected delay = 0
  /** Whether the last attempt threw, and what it threw or returned. */
  protected threw = false
  protected result: unknown = undefined
  /** When the last attempt ended, and how far the wall clock was ahead when the first failed. */
  protected endedAt = 0
  private ahead: number | undefined = undefined
  attempts: AttemptRecord[] | undefined = undefined
  declare private inner: Session[] | undefined
  /** How many sessions there were when the attempt began: one inside it comes later. */
  protected keptBefore = 0

  constructor(guard: GuardCore, context: unknown) {
    super()
    this.guard = guard
    this.context = context
  }

  /** Writes an attempt down and tells how long it took. */
  record(
    leg: Leg,
    outcome: AttemptRecord['outcome'],
    threw: boolean,
    result: unknown,
    known: Classification | undefined,
  ): number {
    const { delay, guard } = this
    const { clock } = guard.settings
    const { number, startedAt, flight, pick } = leg
    this.endedAt = clock.now()
    this.ahead ??= wallAhead(clock, this.endedAt)
    const duration = this.endedAt - startedAt
    const timestamp = Math.round(startedAt + this.ahead)
    // Written in one go where there is nothing more to say, which is nearly always: a field that is added costs more.
    const record: Writable<AttemptRecord> = threw
      ? { number, timestamp, delay, duration, outcome, error: result }
      : { number, timestamp, delay, duration, outcome }
    if (known?.httpStatus !== undefined) record.statusCode = known.httpStatus
    if (pick !== undefined) record.memberId = pick.member.id
    if (flight?.context !== undefined) record.context = flight.context
    if (this.attempts === undefined) this.attempts = [record]
    else this.attempts.push(record)
    const inner = innerSessions(result, guard, this.keptBefore)
    if (inner.length > 0) this.inner = [...(this.inner ?? []), ...inner]
    return duration
  }

  /** Remembers all of it behind the error that the call ends with. */
  protected keep(stopped: StopReason): void {
    const { guard, attempts = [], inner } = this
    const { name } = guard.settings
    const session: Writable<Session> =
      name === undefined
        ? { attempts, success: false, stopped }
        : { operation: name, attempts, success: false, stopped }
    if (inner !== undefined) session.inner = inner
    keepSession(this.result, session, guard)
  }

  /** The last error as a cause, though a value that was not wanted came after it. */
  protected lastError(): { cause?: unknown } {
    const failed = this.attempts?.findLast((record) => 'error' in record)
    return failed === undefined ? {} : { cause: failed.error }
  }

  /** The last result as a fact of an event. */
  protected outcome(): { error: unknown } | { value: unknown } {
    return this.threw ? { error: this.result } : { value: this.result }
  }

  /** Tells the guard's listeners. */
  protected tell(type: GuardEvent['type'], attempt: number, facts: object): void {
    const { listeners, settings } = this.guard
    const { name, clock } = settings
    listeners.emit({
      type,
      name,
      timestamp: clock.wall(),
      attempt,
      context: this.context,
      ...facts,
    } as GuardEvent)
  }
}

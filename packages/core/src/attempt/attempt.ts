import { type AsyncScope, captureContext, runInContext } from '../async-context.js'
import type { Member } from '../pool/members/member.js'
import type { Selection } from '../pool/members/member-pool.js'
import { reportOnce } from '../report.js'

/** The argument of the guarded function: its attempt. */
export interface Attempt<M = unknown> {
  /** The number of the attempt, 1 for the first. */
  readonly number: number
  /** Aborted when a deadline passes, when the caller aborts, or when another parallel call of a hedge won. Created when first read. */
  readonly signal: AbortSignal
  /** The pool member to call, if the guard has a pool. */
  readonly member?: Member<M>
  /**
   * Adds fields to the attempt's record. A later value replaces an earlier one of the same name; an object that cannot be read
   * is reported and ignored.
   */
  note(context: object): void
}

/** The attempt of a guard that has a pool. */
export interface PooledAttempt<M = unknown> extends Attempt<M> {
  /** The pool member to call. */
  readonly member: Member<M>
}

/** The {@link Attempt} object of one attempt, and the way to abort it. */
export class AttemptContext implements Attempt {
  readonly number: number
  // Fields that few attempts need are declared and not set, so that the other attempts stay small.
  // oxlint-disable-next-line no-explicit-any -- the call's pool knows the type
  declare readonly member: any
  /** The fields that the function passed to `note`. */
  declare notes: object | undefined
  /** @internal Called when the attempt is aborted. Cheaper than a signal, which then need not be created. */
  declare onAbort: ((reason: unknown) => void) | undefined
  /**
   * @internal Called when a deadline passes. Set where the attempt has already failed and only details of the failure are still
   * being read: the attempt then ends with the returned error instead of a timeout, and is not aborted.
   */
  declare onDeadline: (() => unknown) | undefined
  /**
   * @internal Set where the function must not be called again, because its work can have been done: a deadline that passes
   * during the attempt then ends the call.
   */
  declare isFinal: boolean | undefined
  /** @internal Set where delays grow from the first one again after this attempt, as gRPC requires after a pushback. */
  declare shouldRestartBackoff: boolean | undefined
  /** @internal The async context in which the signal was first read, and in which its listeners are called. */
  declare scope: AsyncScope | undefined
  declare private controller: AbortController | undefined

  constructor(number: number, member: Member | undefined) {
    this.number = number
    if (member !== undefined) this.member = member
  }

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController()
      this.scope = captureContext()
    }
    return this.controller.signal
  }

  /** Whether the signal is aborted; does not create the signal. */
  get aborted(): boolean {
    return this.controller !== undefined && this.controller.signal.aborted
  }

  /** Returns a bound function, so that `note` can be destructured like the other fields. */
  get note(): (context: object) => void {
    return (context) => {
      try {
        this.notes = { ...this.notes, ...context }
      } catch (error) {
        reportOnce('a note', context, error)
      }
    }
  }

  /** Aborts the signal of the function, whose result is no longer awaited. */
  abort(reason: unknown): void {
    this.onAbort?.(reason)
    const controller = (this.controller ??= new AbortController())
    runInContext(this.scope, () => controller.abort(reason))
  }
}

/** One call of the guarded function: an attempt, or one of the parallel calls of a hedged attempt. */
export interface AttemptRun {
  readonly number: number
  readonly startedAt: number
  /** The session sequence when the attempt started: a session with a higher number began inside the attempt. */
  readonly sequence: number
  /** The argument of the function; undefined for wrapped functions, which only get their own arguments. */
  context: AttemptContext | undefined
  /** The pool member it was sent to. */
  readonly selection: Selection | undefined
  /** Whether the member and not the request caused the failure; undefined until the outcome is recorded. */
  isMemberFault: boolean | undefined
}

export const createRun = (
  number: number,
  startedAt: number,
  sequence: number,
  context: AttemptContext | undefined,
  selection: Selection | undefined,
): AttemptRun => ({ number, startedAt, sequence, context, selection, isMemberFault: undefined })

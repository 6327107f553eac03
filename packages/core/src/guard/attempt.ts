import type { Member } from '../pool/member.js'
import { report } from '../report.js'

/** What the guarded function is told about the attempt it is. */
export interface Attempt<M = unknown> {
  /** 1 for the first. */
  readonly number: number
  /** Aborted when a deadline passes, the caller aborts, or another call of a hedge was quicker. Made when first read. */
  readonly signal: AbortSignal
  /** The pool's member to call, where the guard has a pool. */
  readonly member?: Member<M>
  /**
   * Adds facts to the attempt's record. Later facts win over earlier ones of the same name; facts that cannot be read are
   * reported, and left out.
   */
  note(context: object): void
}

/** The attempt of a guard that has a pool. */
export interface PooledAttempt<M = unknown> extends Attempt<M> {
  /** The pool's member to call. */
  readonly member: Member<M>
}

/** An attempt in flight, as its function sees it. */
export class Flight implements Attempt {
  readonly number: number
  // What few attempts need is declared and not set: it makes the others no larger.
  // oxlint-disable-next-line no-explicit-any -- the call's pool knows the type
  declare readonly member: any
  /** What it noted about itself. */
  declare context: object | undefined
  declare private controller: AbortController | undefined

  constructor(number: number, member: Member | undefined) {
    this.number = number
    if (member !== undefined) this.member = member
  }

  get signal(): AbortSignal {
    this.controller ??= new AbortController()
    return this.controller.signal
  }

  /** Whether its signal is aborted, or would be: asking makes none. */
  get aborted(): boolean {
    return this.controller !== undefined && this.controller.signal.aborted
  }

  /** A function of its own, so that it can be taken out of the attempt like the rest of it. */
  get note(): (context: object) => void {
    return (context) => {
      try {
        this.context = { ...this.context, ...context }
      } catch (error) {
        report('a note', context, error)
      }
    }
  }

  /** Tells the function that nobody waits for it any more. */
  abort(reason: unknown): void {
    this.controller ??= new AbortController()
    this.controller.abort(reason)
  }
}

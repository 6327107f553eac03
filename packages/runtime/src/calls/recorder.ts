import type { Classification, StopReason } from 'holdfast'
import type { CallOptions } from '../face.js'
import type { Draft, RuntimeCall } from './call.js'
import type { Line } from './line.js'

/** A call that runs, and its neighbours among them. */
export interface Active {
  earlier: Active | undefined
  later: Active | undefined
  /** What is known of it once it has failed. */
  readonly draft: Draft | undefined
  /** Ends it at once, with CANCELLED. */
  cancel(message: string): void
}

/** What hears of every call of the runtime. None of it may throw. */
export interface Recorder {
  began(call: Active): void
  /** It is no longer this one that runs, but another in its place. */
  left(call: Active): void
  /** A call that nothing needed to watch succeeded with its first attempt. */
  firstTry(call: Active, line: Line, given: CallOptions | undefined, startedAt: number): void
  /** An attempt failed; what becomes of it is not decided yet. */
  failed(call: RuntimeCall, threw: boolean, result: unknown, known: Classification | undefined): void
  /** Another attempt comes after `wait`. */
  waits(call: RuntimeCall, wait: number): void
  /** The call ended. A failed one rejects once the promise has settled. */
  ended(call: RuntimeCall, stopped: StopReason, result: unknown): PromiseLike<unknown> | undefined
}

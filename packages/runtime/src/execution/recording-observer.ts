import type { Classification, StopReason } from 'holdfast'
import type { CallOptions } from '../api-types.js'
import type { CompiledOperation } from './compiled-operation.js'
import type { RuntimeCall, SessionDraft } from './runtime-call.js'

/** A call that runs, and its neighbours among them. */
export interface ActiveCall {
  prevCall: ActiveCall | undefined
  nextCall: ActiveCall | undefined
  /** What is known of it once it has failed. */
  readonly draft: SessionDraft | undefined
  /** Ends it at once, with CANCELLED. */
  cancel(message: string): void
}

/** What hears of every call of the runtime. None of it may throw. */
export interface RecordingObserver {
  onStart(call: ActiveCall): void
  /** It is no longer this one that runs, but another in its place. */
  onReplaced(call: ActiveCall): void
  /** A call that nothing needed to watch succeeded with its first attempt. */
  onFirstAttemptSuccess(
    call: ActiveCall,
    line: CompiledOperation,
    input: CallOptions | undefined,
    startedAt: number,
  ): void
  /** An attempt failed; what becomes of it is not decided yet. */
  onAttemptFailed(call: RuntimeCall, threw: boolean, result: unknown, known: Classification | undefined): void
  /** Another attempt comes after `wait`. */
  onRetryScheduled(call: RuntimeCall, wait: number): void
  /** The call ended. A failed one rejects once the promise has settled. */
  onEnd(call: RuntimeCall, stopped: StopReason, result: unknown): PromiseLike<unknown> | undefined
}

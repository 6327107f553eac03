import type { Classification, StopReason } from 'holdfast'
import type { RuntimeCall } from './call.js'

/** What hears of every call of the runtime. None of it may throw. */
export interface Recorder {
  began(call: RuntimeCall<unknown>): void
  /** An attempt failed; what becomes of it is not decided yet. */
  failed(call: RuntimeCall<unknown>, error: unknown, known: Classification | undefined): void
  /** Another attempt comes after `wait`. */
  waits(call: RuntimeCall<unknown>, wait: number): void
  /** The call ended. A failed one rejects once the promise has settled. */
  ended(call: RuntimeCall<unknown>, stopped: StopReason, result: unknown): PromiseLike<unknown> | undefined
}

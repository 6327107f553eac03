import type { StopReason } from 'holdfast'
import {
  createDeferred,
  type Deferred,
  type Fallback,
  type FallbackInfo,
  runFallback,
} from 'holdfast/internal'

/** The reasons after which no fallback runs: the call has a value, or its end was requested. */
const WITHOUT_FALLBACK: ReadonlySet<StopReason> = new Set([
  'succeeded',
  'unwanted_value',
  'aborted',
  'cancelled',
])

/** Whether a fallback runs after a call that ended for this reason. */
export const hasFallbackAfter = (stopped: StopReason): boolean => !WITHOUT_FALLBACK.has(stopped)

/** How a fallback ended: with a value, or with an error. `stopped` replaces the call's own reason. */
export type FallbackOutcome =
  | { readonly value: unknown }
  | { readonly error: unknown; readonly stopped: StopReason | undefined }

/** The fallback of a failed call, from the failure until the fallback has settled. */
export class FallbackRun implements Deferred<unknown> {
  resolve!: (value: unknown) => void
  reject!: (error: unknown) => void
  /** Why the call failed. */
  readonly stopped: StopReason
  private readonly promise: Promise<unknown>
  private isCancelled = false

  constructor(stopped: StopReason) {
    this.stopped = stopped
    this.promise = createDeferred(this)
  }

  /** Calls the fallback, and resolves when it has settled. The caller's abort and {@link cancel} end it at once. */
  async run(
    fallback: Fallback,
    error: unknown,
    info: FallbackInfo,
    signal: AbortSignal | undefined,
  ): Promise<FallbackOutcome> {
    if (!this.isCancelled) runFallback(fallback, error, info, signal, this)
    try {
      return { value: await this.promise }
    } catch (thrown) {
      const isAborted = signal?.aborted === true && thrown === signal.reason
      return { error: thrown, stopped: this.isCancelled ? 'cancelled' : isAborted ? 'aborted' : undefined }
    }
  }

  /** Ends the call with `error`. The result of the fallback is ignored. */
  cancel(error: unknown): void {
    this.isCancelled = true
    this.reject(error)
  }
}

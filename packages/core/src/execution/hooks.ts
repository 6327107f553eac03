import type { Classification } from '../classify/index.js'
import type { CompiledRetryPolicy } from '../retry/options.js'
import type { StopReason } from '../retry/stop-reason.js'
import type { Admission } from './admission.js'

/** Timeouts that replace those of the guard, in milliseconds; Infinity for none. */
export interface CallTimeouts {
  readonly attemptTimeout: number
  readonly totalTimeout: number
}

/** The policy and timeouts that apply to an execution from one failure to the next. */
export interface EffectivePolicy extends CallTimeouts {
  readonly policy: CompiledRetryPolicy
}

/** The methods by which a layer above the guard, such as the runtime, takes part in an execution. */
export interface ExecutionHooks {
  /** Replaces the guard's own breaker. */
  readonly admission: Admission | undefined
  /** Returns the policy that applies after a failure; undefined keeps the current one. */
  policyFor(known: Classification | undefined): EffectivePolicy | undefined
  /** An attempt failed and was recorded. */
  onAttemptFailed(hasThrown: boolean, result: unknown, known: Classification | undefined): void
  /** The next attempt starts after `delay` milliseconds. */
  onRetryScheduled(delay: number): void
  /** The execution ended. One that failed rejects only after the returned promise has settled. */
  onSettled(stopped: StopReason, result: unknown): PromiseLike<unknown> | undefined
}

import type { Event } from './event.js'

/** What a {@link Policy} handles. */
export interface IBasePolicyOptions {
  errorFilter: (error: Error) => boolean
  resultFilter: (result: unknown) => boolean
}

/** Why a call failed: an error, or a result that the policy handles as a failure. */
export type FailureReason<ReturnType> = { error: Error } | { value: ReturnType }

/** The data of `onFailure`. */
export interface IFailureEvent {
  /** How long the call took, in milliseconds. */
  duration: number
  /** Whether the policy handles the failure. */
  handled: boolean
  reason: FailureReason<unknown>
}

/** The data of `onSuccess`. */
export interface ISuccessEvent {
  /** How long the call took, in milliseconds. */
  duration: number
}

/** The argument of each executed function. */
export interface IDefaultPolicyContext {
  /** Aborted when the caller aborts, or at a timeout. */
  signal: AbortSignal
}

/** A policy, or a combination of policies. */
export interface IPolicy<
  ContextType extends IDefaultPolicyContext = IDefaultPolicyContext,
  AltReturn = never,
> {
  /**
   * Exists in types only.
   * @deprecated This property does not exist
   */
  readonly _altReturn: AltReturn
  /** Emitted when a function succeeds. */
  readonly onSuccess: Event<ISuccessEvent>
  /** Emitted when a function fails. */
  readonly onFailure: Event<IFailureEvent>
  /** Runs the function under the policy. */
  execute<T>(fn: (context: ContextType) => PromiseLike<T> | T, signal?: AbortSignal): Promise<T | AltReturn>
}

/** The policy that `wrap` returns. */
export interface IMergedPolicy<
  A extends IDefaultPolicyContext,
  B,
  // oxlint-disable-next-line typescript/no-explicit-any -- the declaration of cockatiel
  W extends IPolicy<any, any>[],
> extends IPolicy<A, B> {
  /** The wrapped policies, the outermost first. */
  readonly wrapped: W
}

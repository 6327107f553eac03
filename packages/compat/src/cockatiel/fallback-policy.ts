import type { Event } from './event.js'
import { Executor, neverAbortedSignal } from './executor.js'
import type { Policy } from './policy.js'
import type { IDefaultPolicyContext, IFailureEvent, IPolicy, ISuccessEvent } from './types.js'

/** Replaces failures by a value. */
export class FallbackPolicy<AltReturn> implements IPolicy<IDefaultPolicyContext, AltReturn> {
  declare readonly _altReturn: AltReturn
  private readonly executor: Executor
  private readonly value: () => AltReturn
  readonly onSuccess: Event<ISuccessEvent>
  readonly onFailure: Event<IFailureEvent>

  /** @internal */
  constructor(executor: Executor, value: () => AltReturn) {
    this.executor = executor
    this.value = value
    this.onSuccess = executor.onSuccess
    this.onFailure = executor.onFailure
  }

  /** Returns the result of the function, or the fallback. */
  async execute<T>(
    fn: (context: IDefaultPolicyContext) => PromiseLike<T> | T,
    signal: AbortSignal = neverAbortedSignal,
  ): Promise<T | AltReturn> {
    const result = await this.executor.invoke(fn, { signal })
    return 'success' in result ? result.success : this.value()
  }
}

/** Creates a policy that replaces the failures that `policy` handles by a value, or by the result of a function. */
export const fallback = <R>(policy: Policy, valueOrFactory: (() => Promise<R> | R) | R): FallbackPolicy<R> =>
  new FallbackPolicy(
    new Executor(policy.options),
    (typeof valueOrFactory === 'function' ? valueOrFactory : () => valueOrFactory) as () => R,
  )

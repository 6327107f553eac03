import type { Event } from './event.js'
import { Executor, neverAbortedSignal, returnOrThrow } from './executor.js'
import type { IDefaultPolicyContext, IFailureEvent, IPolicy, ISuccessEvent } from './types.js'

/** Calls the function and nothing else, for tests. */
export class NoopPolicy implements IPolicy {
  declare readonly _altReturn: never
  private readonly executor = new Executor()
  readonly onSuccess: Event<ISuccessEvent> = this.executor.onSuccess
  readonly onFailure: Event<IFailureEvent> = this.executor.onFailure

  async execute<T>(
    fn: (context: IDefaultPolicyContext) => PromiseLike<T> | T,
    signal: AbortSignal = neverAbortedSignal,
  ): Promise<T> {
    return returnOrThrow(await this.executor.invoke(fn, { signal }))
  }
}

/** A policy that calls the function and nothing else. */
export const noop: NoopPolicy = /* @__PURE__ */ new NoopPolicy()

import { monotonicTime } from '../platform.js'
import { type Event, EventEmitter } from './event.js'
import type { FailureReason, IBasePolicyOptions, IFailureEvent, ISuccessEvent } from './types.js'

/** The result of a function: a success, or a failure that the policy handles. */
export type PolicyOutcome<T> = { success: T } | FailureReason<T>

/** Returns the value of an outcome. @throws the error of one */
export function returnOrThrow<T>(outcome: PolicyOutcome<T>): T {
  if ('error' in outcome) throw outcome.error
  return 'success' in outcome ? outcome.success : outcome.value
}

/** A signal that is never aborted: the default of `execute`. */
export const neverAbortedSignal: AbortSignal = new AbortController().signal

const HANDLES_NOTHING: IBasePolicyOptions = { errorFilter: () => false, resultFilter: () => false }

/** Runs the functions of a policy, decides which results are failures, and emits `onSuccess` and `onFailure`. */
export class Executor {
  readonly filters: IBasePolicyOptions
  private readonly successEmitter = new EventEmitter<ISuccessEvent>()
  private readonly failureEmitter = new EventEmitter<IFailureEvent>()
  readonly onSuccess: Event<ISuccessEvent> = this.successEmitter.addListener
  readonly onFailure: Event<IFailureEvent> = this.failureEmitter.addListener

  constructor(filters: IBasePolicyOptions = HANDLES_NOTHING) {
    this.filters = filters
  }

  /** Calls the function. @throws an error that the policy does not handle */
  async invoke<A extends unknown[], T>(
    fn: (...args: A) => PromiseLike<T> | T,
    ...args: A
  ): Promise<PolicyOutcome<T>> {
    // Only listeners that were added before the call get its events.
    const isObserved = this.successEmitter.size + this.failureEmitter.size > 0
    const startedAt = isObserved ? monotonicTime() : 0
    const emitFailure = (handled: boolean, reason: FailureReason<T>) => {
      if (isObserved) this.failureEmitter.emit({ duration: monotonicTime() - startedAt, handled, reason })
    }
    try {
      const value = await fn(...args)
      if (this.filters.resultFilter(value)) {
        emitFailure(true, { value })
        return { value }
      }
      if (isObserved) this.successEmitter.emit({ duration: monotonicTime() - startedAt })
      return { success: value }
    } catch (thrown) {
      const error = thrown as Error
      const handled = this.filters.errorFilter(error)
      emitFailure(handled, { error })
      if (!handled) throw error
      return { error }
    }
  }
}

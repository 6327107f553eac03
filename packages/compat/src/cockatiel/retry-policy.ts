import { retry as retryCall } from 'holdfast/retry'
import { createDelayClock } from '../delay-clock.js'
import { startTimer } from '../platform.js'
import { ConstantBackoff, type IBackoff, type IBackoffFactory } from './backoff.js'
import { type Event, EventEmitter } from './event.js'
import { Executor, neverAbortedSignal, type PolicyOutcome, returnOrThrow } from './executor.js'
import type { Policy } from './policy.js'
import type {
  FailureReason,
  IBasePolicyOptions,
  IDefaultPolicyContext,
  IFailureEvent,
  IPolicy,
  ISuccessEvent,
} from './types.js'

/** The argument of a retried function. */
export interface IRetryContext extends IDefaultPolicyContext {
  /** The number of retries before this attempt, 0 for the first; in a backoff, the number of the next retry. */
  attempt: number
}

/** The argument of a backoff between retries. */
export interface IRetryBackoffContext<R> extends IRetryContext {
  /** The failure of the last attempt. */
  result: FailureReason<R>
}

/** The options of a {@link RetryPolicy}. */
export interface IRetryPolicyConfig {
  backoff: IBackoffFactory<IRetryBackoffContext<unknown>>
  /** The maximum number of retries after the first attempt. */
  maxAttempts: number
  /** Whether a delay does not keep the process alive. @defaultValue false */
  unref?: boolean
}

/** An attempt that another one follows. */
const RETRIED = Symbol('retried')

/** Retries a function after failures. */
export class RetryPolicy implements IPolicy<IRetryContext> {
  declare readonly _altReturn: never
  private readonly options: Readonly<IRetryPolicyConfig>
  private readonly executor: Executor
  private readonly giveUpEmitter = new EventEmitter<FailureReason<unknown>>()
  private readonly retryEmitter = new EventEmitter<
    FailureReason<unknown> & { delay: number; attempt: number }
  >()
  readonly onSuccess: Event<ISuccessEvent>
  readonly onFailure: Event<IFailureEvent>
  /** Emitted before the delay of a retry. */
  readonly onRetry: Event<FailureReason<unknown> & { delay: number; attempt: number }> =
    this.retryEmitter.addListener
  /** Emitted when a call fails and is not retried any more. */
  readonly onGiveUp: Event<FailureReason<unknown>> = this.giveUpEmitter.addListener

  /** @internal */
  constructor(options: Readonly<IRetryPolicyConfig>, executor: Executor) {
    this.options = options
    this.executor = executor
    this.onSuccess = executor.onSuccess
    this.onFailure = executor.onFailure
  }

  /** Returns the same policy, whose delays do not keep the process alive. It has no listeners. */
  dangerouslyUnref(): RetryPolicy {
    return createRetryPolicy({ ...this.options, unref: true }, this.executor.filters)
  }

  /** Calls the function until it succeeds, or until the retries are used up or the signal is aborted. */
  async execute<T>(
    fn: (context: IRetryContext) => PromiseLike<T> | T,
    signal: AbortSignal = neverAbortedSignal,
  ): Promise<T> {
    const { maxAttempts, unref } = this.options
    let backoff: IBackoff<IRetryBackoffContext<unknown>> | IBackoffFactory<IRetryBackoffContext<unknown>> =
      this.options.backoff
    let delay = 0
    let emitRetry: (() => void) | undefined
    let listenerError: { error: Error } | undefined

    const runAttempt = async (number: number): Promise<PolicyOutcome<T> | typeof RETRIED> => {
      if (listenerError !== undefined) return listenerError
      const result = await this.executor.invoke(fn, { attempt: number - 1, signal })
      if ('success' in result) return result
      if (signal.aborted || !(number <= maxAttempts)) {
        this.giveUpEmitter.emit(result)
        return result
      }
      const next: IBackoff<IRetryBackoffContext<unknown>> = backoff.next({ attempt: number, signal, result })
      backoff = next
      delay = next.duration
      emitRetry = () => this.retryEmitter.emit({ ...result, delay, attempt: number })
      return RETRIED
    }

    const outcome = await retryCall(({ number }) => runAttempt(number).catch((error: Error) => ({ error })), {
      maxAttempts: Number.POSITIVE_INFINITY,
      retryIf: ({ value }) => value === RETRIED,
      // Cockatiel starts a timer for each delay, also for one of 0.
      backoffType: () => (delay >= 1 ? delay : 1),
      maxDelay: Number.POSITIVE_INFINITY,
      respectRetryAfter: false,
      clock: createDelayClock((fn, ms) => {
        const timer = startTimer(fn, delay >= 1 ? ms : delay, unref)
        // The timer runs before the event is emitted, so that a listener can advance fake timers.
        try {
          emitRetry?.()
        } catch (error) {
          listenerError = { error: error as Error }
          throw error // ends the delay
        } finally {
          emitRetry = undefined
        }
        return timer
      }),
    })
    return returnOrThrow(outcome as PolicyOutcome<T>)
  }
}

// Not within the class: in a bundle, a class that refers to itself gets another name, which programs log.
const createRetryPolicy = (options: IRetryPolicyConfig, filters: IBasePolicyOptions): RetryPolicy =>
  new RetryPolicy(options, new Executor(filters))

/** Creates a policy that retries a function after the failures that `policy` handles. */
export const retry = (
  policy: Policy,
  opts: {
    /** The maximum number of retries after the first attempt. @defaultValue Infinity */
    maxAttempts?: number
    /** The delays between attempts. @defaultValue none */
    backoff?: IBackoffFactory<IRetryBackoffContext<unknown>>
  },
): RetryPolicy =>
  createRetryPolicy(
    {
      backoff: opts.backoff || new ConstantBackoff(0),
      maxAttempts: opts.maxAttempts ?? Number.POSITIVE_INFINITY,
    },
    policy.options,
  )

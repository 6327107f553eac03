import { retry } from 'holdfast/retry'
import { createDelayClock } from '../delay-clock.js'
import { startTimer } from '../platform.js'
import { TaskCancelledError } from './errors.js'
import { Event, EventEmitter, onAbort } from './event.js'
import { Executor, type PolicyOutcome, returnOrThrow } from './executor.js'
import type { IFailureEvent, IPolicy, ISuccessEvent } from './types.js'

/** What happens at a timeout, besides the abort of the signal. */
export const TimeoutStrategy = {
  /** The call waits until the function returns or throws. */
  Cooperative: 'optimistic',
  /** The call rejects at once. */
  Aggressive: 'aggressive',
} as const
export type TimeoutStrategy = 'optimistic' | 'aggressive'

/** The types of the strategies, under the names that an enum has. */
export declare namespace TimeoutStrategy {
  export type Cooperative = 'optimistic'
  export type Aggressive = 'aggressive'
}

/** The argument of a function with a timeout. */
export interface ICancellationContext {
  signal: AbortSignal
}

/** The options of a timeout. */
export interface ITimeoutOptions {
  strategy: TimeoutStrategy
  /** Whether the signal is aborted when the function has returned. @defaultValue true */
  abortOnReturn?: boolean
}

type TimedFunction<T> = (context: ICancellationContext, signal: AbortSignal) => PromiseLike<T> | T

/** Aborts the signal of a function after a time. */
export class TimeoutPolicy implements IPolicy<ICancellationContext> {
  declare readonly _altReturn: never
  private readonly duration: number
  private readonly options: ITimeoutOptions
  private readonly executor: Executor
  private readonly unref: boolean
  private readonly timeoutEmitter = new EventEmitter<void>()
  /** Emitted at a timeout, and when the signal of the caller is aborted. */
  readonly onTimeout: Event<void> = this.timeoutEmitter.addListener
  readonly onFailure: Event<IFailureEvent>
  readonly onSuccess: Event<ISuccessEvent>

  /** @internal */
  constructor(duration: number, options: ITimeoutOptions, executor = new Executor(), unref = false) {
    this.duration = duration
    this.options = options
    this.executor = executor
    this.unref = unref
    this.onFailure = executor.onFailure
    this.onSuccess = executor.onSuccess
  }

  /** Returns the same policy, whose timer does not keep the process alive. It shares `onSuccess` and `onFailure`. */
  dangerouslyUnref(): TimeoutPolicy {
    return createTimeoutPolicy(this.duration, this.options, this.executor, true)
  }

  /** Calls the function with a signal. @throws TaskCancelledError at a timeout with the aggressive strategy */
  async execute<T>(fn: TimedFunction<T>, signal?: AbortSignal): Promise<T> {
    const { duration } = this
    const controller = new AbortController()
    const abort = () => controller.abort()
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort)
    const aborted = onAbort(controller.signal)
    const subscription = aborted.event(() => this.timeoutEmitter.emit())
    let call: Promise<PolicyOutcome<T>> | undefined
    try {
      const run = ({ signal: deadline }: { signal: AbortSignal }) => {
        deadline.addEventListener('abort', abort)
        call = this.start(fn, controller.signal, aborted.event)
        return call
      }
      // The engine only ends the wait for the call, which decides itself when it ends.
      await retry(run, {
        maxAttempts: 1,
        timeout: { total: duration >= 1 ? duration : 1 },
        clock: createDelayClock((onTimer, ms) =>
          startTimer(onTimer, duration >= 1 ? ms : duration, this.unref),
        ),
      }).catch(() => {})
      return returnOrThrow((await call) as PolicyOutcome<T>)
    } finally {
      subscription.dispose()
      aborted.dispose()
      signal?.removeEventListener('abort', abort)
      if (this.options.abortOnReturn !== false) abort()
    }
  }

  private start<T>(
    fn: TimedFunction<T>,
    signal: AbortSignal,
    onAborted: Event<void>,
  ): Promise<PolicyOutcome<T>> {
    const context = { signal }
    if (this.options.strategy === TimeoutStrategy.Cooperative)
      return this.executor.invoke(fn, context, signal)
    return this.executor.invoke(async () =>
      Promise.race([
        Promise.resolve(fn(context, signal)),
        Event.toPromise(onAborted).then(() => {
          throw new TaskCancelledError(`Operation timed out after ${this.duration}ms`)
        }),
      ]),
    )
  }
}

// Not within the class: in a bundle, a class that refers to itself gets another name, which programs log.
const createTimeoutPolicy = (...args: ConstructorParameters<typeof TimeoutPolicy>): TimeoutPolicy =>
  new TimeoutPolicy(...args)

/** Creates a timeout of `duration` milliseconds. */
export const timeout = (
  duration: number,
  strategyOrOpts: TimeoutStrategy | { strategy: TimeoutStrategy; abortOnReturn: boolean },
): TimeoutPolicy =>
  new TimeoutPolicy(
    duration,
    typeof strategyOrOpts === 'string' ? { strategy: strategyOrOpts } : strategyOrOpts,
  )

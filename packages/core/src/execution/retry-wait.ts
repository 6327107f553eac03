import { setCallTimer } from '../async-context.js'
import { AttemptContext } from '../attempt/attempt.js'
import { readCauseChain } from '../classify/cause-chain.js'
import { YIELD_EVERY_ATTEMPTS, yieldTurn } from '../clock.js'
import { setCause } from '../fallback/fallback.js'
import { unwrapStopRetrying } from '../retry/decide.js'
import type { CompiledRetryPolicy, RetryInfo } from '../retry/options.js'
import type { StopReason } from '../retry/stop-reason.js'
import type { AttemptLog } from './attempt-log.js'
import type { ExecutionDeadlines } from './execution-deadlines.js'
import type { Executor } from './executor.js'

/** What the wait for the next attempt needs of its execution. */
export interface WaitingExecution {
  readonly executor: Executor
  readonly policy: CompiledRetryPolicy
  readonly context: unknown
  /** The number of the last attempt. */
  readonly number: number
  readonly log: AttemptLog | undefined
  readonly deadlines: ExecutionDeadlines | undefined
  startNextAttempt(): void
  /** Ends the call with another error. */
  stopWith(error: unknown, stopped: StopReason): void
}

/** The time between two attempts: the delay, and after it the run of `beforeRetry`, until the total deadline. */
export class RetryWait {
  private readonly execution: WaitingExecution
  private readonly delay: number
  private isOver = false
  /** The timer of the delay or, while `beforeRetry` runs, of the total deadline. */
  private timer: unknown = undefined
  /** Has the signal of `beforeRetry`. */
  private context: AttemptContext | undefined = undefined

  constructor(execution: WaitingExecution, delay: number) {
    this.execution = execution
    this.delay = delay
  }

  start(): void {
    const { delay, execution } = this
    const { executor, policy, number } = execution
    if (delay > 0) this.timer = setCallTimer(executor.settings.clock, () => this.onTimer(), delay)
    else if (number % YIELD_EVERY_ATTEMPTS === 0)
      void yieldTurn(policy.maxAttempts).then(() => this.onTimer())
    else this.onTimer()
  }

  /** Ends the wait. Returns false where it was over already. */
  end(): boolean {
    if (this.isOver) return false
    this.isOver = true
    if (this.timer !== undefined) this.execution.executor.settings.clock.clearTimer(this.timer)
    return true
  }

  /** Aborts the signal of `beforeRetry`. */
  abort(reason: unknown): void {
    this.context?.abort(reason)
  }

  private onTimer(): void {
    const { execution } = this
    const { policy, deadlines, executor } = execution
    const { clock } = executor.settings
    this.timer = undefined
    if (this.isOver) return
    const timeLeft = (deadlines?.total ?? Infinity) - clock.now()
    // Without time left, because the timer of the delay fired late, the call ends before the attempt.
    if (policy.beforeRetry === undefined || timeLeft <= 0) {
      execution.startNextAttempt()
      return
    }
    if (timeLeft < Infinity) this.timer = setCallTimer(clock, () => this.onDeadline(), timeLeft)
    this.run(policy.beforeRetry).then(
      () => {
        if (this.end()) execution.startNextAttempt()
      },
      (error: unknown) => {
        if (this.end()) execution.stopWith(error, 'before_retry')
      },
    )
  }

  /** Calls `beforeRetry`. Where it throws, the error of the last attempt becomes the cause of its error. */
  private async run(beforeRetry: (info: RetryInfo) => unknown): Promise<void> {
    const { delay, execution } = this
    const { log, number, context } = execution
    const attempt = number + 1
    const lastError = log?.hasThrown ? log.result : undefined
    const preparation = new AttemptContext(attempt, undefined)
    this.context = preparation
    try {
      await beforeRetry({
        error: lastError,
        attempt,
        delay,
        context,
        // A signal is expensive, so it is created when it is read.
        get signal() {
          return preparation.signal
        },
      })
    } catch (thrown) {
      const error = unwrapStopRetrying(thrown)
      if (lastError !== undefined && !readCauseChain(lastError).nodes.includes(error as never))
        setCause(error, lastError)
      throw error
    }
  }

  /** The total deadline has passed while `beforeRetry` was running. */
  private onDeadline(): void {
    const { execution } = this
    const { deadlines } = execution
    const error = deadlines?.createError(deadlines.total)
    this.timer = undefined
    execution.stopWith(error, 'deadline')
    this.abort(error)
  }
}

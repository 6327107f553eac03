import { type AbortListener, offAbort, onAbort } from '../abort.js'
import { AttemptContext, type AttemptRun, createRun } from '../attempt/attempt.js'
import { Slot, type SlotOwner } from '../bulkhead/slot.js'
import type { Classification } from '../classify/index.js'
import { approximateStartTime, YIELD_EVERY_ATTEMPTS } from '../clock.js'
import { createDeferred, type Deferred } from '../deferred.js'
import type { HoldfastError } from '../errors.js'
import { type Fallback, runFallback } from '../fallback/fallback.js'
import { HedgedAttempt, type HedgeSettings } from '../hedge/hedge.js'
import type { Selection } from '../pool/members/member-pool.js'
import { countCall, type RetryBudget, returnRetry, withdrawRetry } from '../retry/budget.js'
import {
  isRetryable,
  isStopRetrying,
  nextDelay,
  shouldRetryOutcome,
  unwrapStopRetrying,
} from '../retry/decide.js'
import type { CompiledRetryPolicy } from '../retry/options.js'
import { rejectionReason, type StopReason } from '../retry/stop-reason.js'
import { type Session, sessionSequence } from '../session/session.js'
import type { Admission } from './admission.js'
import { AttemptLog } from './attempt-log.js'
import type { CallOptions, Executed, GuardedFunction } from './call.js'
import { createBulkheadFullError } from './errors.js'
import { emitEvent } from './events.js'
import { ExecutionDeadlines } from './execution-deadlines.js'
import type { Executor } from './executor.js'
import { ExecutionHedgeHost } from './hedge-host.js'
import type { CallTimeouts, EffectivePolicy, ExecutionHooks } from './hooks.js'
import { MemberSelection } from './member-selection.js'
import { isNestedFailure } from './nested-failure.js'
import { CANCELLED_ATTEMPT, hasStatus } from './outcome.js'
import { RetryWait } from './retry-wait.js'

const RESOLVED = /* @__PURE__ */ Promise.resolve()

// oxlint-disable-next-line no-explicit-any -- the static continuation passes any result on
type AnyExecution = Execution<any>

/**
 * One call that needs more than its first attempt. The retry loop is driven by events (a result, a timer, a deadline, an
 * abort) until the execution settles once:
 *
 *     continueWith -> prepareAttempt -> function -> awaitResult -> continueWith -> handleResult -> succeed
 *                                                                                              -> stop
 *                                                                                              -> scheduleRetry
 *
 * Results of attempts that are no longer awaited are ignored. The parts that few executions need are created when they are
 * needed, and each names in an interface what it needs of the execution: {@link AttemptLog} records and reports,
 * {@link ExecutionDeadlines} limits time, {@link MemberSelection} chooses pool members, {@link RetryWait} waits between
 * attempts, {@link HedgedAttempt} makes parallel runs.
 */
export class Execution<T> implements Deferred<T>, AbortListener, SlotOwner {
  resolve!: (value: T | PromiseLike<T>) => void
  reject!: (error: unknown) => void
  readonly executor: Executor
  private readonly fn: GuardedFunction
  private readonly self: unknown
  private readonly args: unknown[] | undefined
  private readonly options: CallOptions | undefined
  private readonly signal: AbortSignal | undefined
  readonly hooks: ExecutionHooks | undefined
  readonly admission: Admission | undefined
  policy: CompiledRetryPolicy
  /** The number of the last attempt that started; 0 before the first. */
  number = 0
  /** The delay before the current attempt. */
  delay = 0
  /** The number of the attempt whose result is awaited, else 0. The result of any other attempt is late and ignored. */
  private currentAttempt = 0
  private isEnded = false
  run: AttemptRun | undefined = undefined
  log: AttemptLog | undefined = undefined
  /** When the first attempt started, from which the total timeout counts. */
  private callStartedAt = 0
  /** The wait for the next attempt, until it starts. */
  private wait: RetryWait | undefined = undefined
  // Fields that few executions need are declared and not set, so that the others stay small.
  declare deadlines: ExecutionDeadlines | undefined
  declare members: MemberSelection | undefined
  declare private hedge: HedgedAttempt | undefined
  /** The slot of the bulkhead that the execution holds or waits for. */
  declare private slot: Slot | undefined
  /** Whether a success is recorded too, because the caller gets the session of the call. */
  declare private hasSession: boolean | undefined
  /** The number of the last attempt after which a retry was withdrawn from the budget. */
  declare private withdrawnAfter: number | undefined
  /** The number of the last attempt that restarted the backoff. */
  declare private backoffStart: number | undefined

  constructor(
    executor: Executor,
    fn: GuardedFunction,
    self: unknown,
    args: unknown[] | undefined,
    policy: CompiledRetryPolicy,
    options: CallOptions | undefined,
    hooks?: ExecutionHooks,
    timeouts?: CallTimeouts,
  ) {
    this.executor = executor
    this.fn = fn
    this.self = self
    this.args = args
    this.policy = policy
    this.options = options
    this.signal = options?.signal ?? undefined
    this.hooks = hooks
    if (executor.hasDeadline || timeouts !== undefined)
      this.deadlines = new ExecutionDeadlines(this, timeouts ?? executor.settings)
    this.admission = hooks === undefined ? executor.createAdmission(options, this.lease) : hooks.admission
  }

  /** The context of the call. It is read only where it is used, because that of a request is created when first read. */
  get context(): unknown {
    return this.options?.context
  }

  /** How long a probe can hold its permit: as long as an attempt can take. */
  get lease(): number | undefined {
    return this.deadlines?.lease
  }

  /** Starts the first attempt, or waits for a bulkhead slot. */
  start(): Promise<T> {
    const { signal, executor } = this
    const promise = createDeferred(this)
    const { bulkhead, clock } = executor.settings
    if (signal?.aborted) this.abort(signal.reason)
    else {
      if (signal !== undefined) onAbort(signal, this)
      if (bulkhead === undefined) this.startNextAttempt()
      else {
        this.slot = new Slot(bulkhead, this, clock)
        this.slot.acquire()
      }
    }
    return promise
  }

  /** Starts the execution like {@link start}, and resolves to its value and its session. */
  startWithSession(): Promise<Executed<T>> {
    this.hasSession = true
    return this.start().then((value) => ({ value, session: this.createSession() }))
  }

  /** The session of an execution that was started by {@link startWithSession} and whose caller gets a value. */
  createSession(): Session {
    const log = this.openLog()
    const session = log.createSession()
    if (log.hasThrown && !session.success) session.served = 'fallback'
    return session
  }

  /** Takes over a first attempt that started without an execution. */
  resumeFirstAttempt(
    context: AttemptContext | undefined,
    epoch: number,
    startedAt: number,
    sequence: number,
  ): this {
    this.number = 1
    this.currentAttempt = 1
    this.run = createRun(1, startedAt, sequence, context, undefined)
    this.admission?.resumePermit(epoch)
    this.callStartedAt = startedAt
    this.deadlines?.setStart(startedAt)
    return this
  }

  /** The bulkhead gave the execution a slot. */
  onSlot(): void {
    this.startNextAttempt()
  }

  /** The bulkhead has no slot for the execution. */
  onSlotRejected(): void {
    this.rejectAttempt(createBulkheadFullError(this.executor.settings.name))
  }

  startNextAttempt(): void {
    Execution.continueWith(this, 0, false, undefined)
  }

  /**
   * Handles the result of `attempt` (0 for none) and calls the function for the next attempt. It is static and called by the
   * promise itself, because each stack frame adds up to a microsecond to the creation of an error in the function, and keeps
   * the frame's `this` alive.
   */
  static continueWith(execution: AnyExecution, attempt: number, hasThrown: boolean, result: unknown): void {
    const { executor, args, fn, self } = execution
    if (!execution.prepareNextAttempt(attempt, hasThrown, result)) return
    try {
      if (executor.settings.hedge !== undefined)
        execution.awaitResult(execution.startHedgedAttempt(executor.settings.hedge))
      else if (args === undefined) execution.awaitResult(fn(execution.createAttemptContext()))
      else execution.awaitResult(args.length === 1 ? fn.call(self, args[0]) : fn.apply(self, args))
    } catch (error) {
      execution.awaitResult(Promise.reject(error))
    }
  }

  /**
   * Handles the result of `attempt` (0 for none) and prepares the next attempt. Where it returns true, the caller calls the
   * function and passes the returned value to {@link awaitResult}.
   */
  prepareNextAttempt(attempt: number, hasThrown: boolean, result: unknown): boolean {
    if (attempt > 0) {
      this.slot?.removeRun()
      if (this.currentAttempt !== attempt || !this.handleResult(hasThrown, result)) return false
    }
    return this.prepareAttempt()
  }

  createAttemptContext(): AttemptContext {
    const run = this.run as AttemptRun
    run.context = new AttemptContext(run.number, run.selection?.member)
    return run.context
  }

  /** Continues the loop when the value that the function returned has settled. */
  awaitResult(returned: unknown): void {
    const { number } = this
    const { continueWith } = Execution
    const promise = returned instanceof Promise ? returned : Promise.resolve(returned)
    promise.then(
      continueWith.bind(undefined, this, number, false),
      continueWith.bind(undefined, this, number, true),
    )
  }

  /** Acquires what an attempt needs: a permit, time, a pool member. Returns false where the attempt was rejected. */
  private prepareAttempt(): boolean {
    const { executor, number, admission, deadlines } = this
    const { pool, budget, clock } = executor.settings
    // Permit and deadline use the same reading of the clock, so that a lease does not end before the deadline it covers.
    const now = this.readStartTime()
    this.wait = undefined
    const rejection = admission?.acquirePermit(now)
    if (rejection !== undefined) return this.rejectAttempt(rejection)
    // A listener aborted the call, or the timer of the delay fired late.
    if (this.isEnded || (deadlines !== undefined && now >= deadlines.total)) {
      admission?.releasePermit()
      return this.stop('deadline')
    }
    let selection: Selection | undefined
    if (pool !== undefined) {
      this.members ??= new MemberSelection(pool, clock, this.context, this.lease)
      selection = this.members.select()
      if (selection === undefined) {
        const error = pool.createUnavailableError()
        admission?.releasePermit()
        return this.rejectAttempt(error)
      }
    }
    const run = createRun(number + 1, now, sessionSequence(), undefined, selection)
    if (this.isEnded) {
      admission?.releasePermit() // a listener of the member's breaker aborted the call
      this.members?.recordOutcome(run, true, this.log?.result, CANCELLED_ATTEMPT, undefined)
      return false
    }
    this.run = run
    this.number = number + 1
    this.currentAttempt = number + 1
    this.slot?.addRun()
    if (number === 0) {
      this.callStartedAt = now
      deadlines?.setStart(now)
      if (budget !== undefined) countCall(budget)
    }
    deadlines?.start(now)
    return true
  }

  /** The start time of the next attempt. The clock is not read again where the last attempt ended just now. */
  private readStartTime(): number {
    const { executor, number } = this
    const { clock } = executor.settings
    const hasJustEnded =
      number > 0 &&
      number % YIELD_EVERY_ATTEMPTS !== 0 &&
      this.delay === 0 &&
      !executor.hasListeners &&
      this.policy.beforeRetry === undefined
    if (hasJustEnded) return (this.log as AttemptLog).endedAt
    return number === 0 && executor.canShareStartTime ? approximateStartTime(clock) : clock.now()
  }

  /**
   * Handles the outcome of the current attempt, which ended at `endedAt`, or just now where that is undefined. Returns true
   * where the next attempt starts now. With `isFinal` it never does.
   */
  private handleResult(hasThrown: boolean, outcome: unknown, endedAt?: number, isFinal = false): boolean {
    const { executor, members, number } = this
    const run = this.run as AttemptRun
    if (this.isEnded) return false
    const isStopped = isFinal || (hasThrown && isStopRetrying(outcome))
    const result = isStopped ? unwrapStopRetrying(outcome) : outcome
    const isFailure =
      hasThrown ||
      (this.policy.retryIf !== undefined &&
        shouldRetryOutcome(this.policy, { value: result, attempt: number }))
    if (!isFailure && members === undefined) return this.succeed(result as T)
    const classification = isFailure || hasStatus(result) ? executor.classify(result, hasThrown) : undefined
    if (isFailure && this.hooks !== undefined) this.applyPolicy(this.hooks.policyFor(classification))
    const { policy } = this
    const isMemberFault =
      members !== undefined && members.recordOutcome(run, hasThrown, result, classification, endedAt)
    const isWanted = !(isFailure || isMemberFault)
    if (
      !hasThrown &&
      (isWanted || (classification !== undefined && policy.matchesAbortOn?.(result, classification) === true))
    )
      return this.succeed(result as T)
    this.admission?.recordOutcome(hasThrown, result, classification, endedAt)
    if (this.isEnded) return false // a listener aborted the call
    this.deadlines?.clear()
    this.currentAttempt = 0
    this.openLog().onAttemptFailed(hasThrown, result, classification)
    if (hasThrown && endedAt !== undefined && endedAt >= this.totalDeadline) return this.stop('deadline')
    if (
      !isStopped &&
      policy.nested === 'stop' &&
      isNestedFailure(result, policy, executor, members, run.sequence)
    )
      return this.stop('nested')
    if (
      isStopped ||
      (hasThrown && !isRetryable(policy, result, classification as Classification, number, isMemberFault))
    )
      return this.stop('not_retryable')
    // A rate-limited member gets time to recover while the call is sent to another one.
    const canFailOver = classification?.kind === 'rate_limited' && members?.hasUntriedMember()
    return this.scheduleRetry(canFailOver ? undefined : classification?.retryAfter)
  }

  /** Applies another policy from here on; attempts and time are still counted over the whole execution. */
  private applyPolicy(effective: EffectivePolicy | undefined): void {
    if (effective === undefined || effective.policy === this.policy) return
    this.policy = effective.policy
    this.deadlines ??= new ExecutionDeadlines(this, effective)
    this.deadlines.setStart(this.callStartedAt, effective)
  }

  /** Starts the wait for the next attempt, or stops. Returns true where the next attempt starts now. */
  private scheduleRetry(retryAfter: number | undefined): boolean {
    const { executor, policy, number } = this
    const { random, budget } = executor.settings
    const log = this.log as AttemptLog
    if (this.isEnded) return false // a listener aborted the call
    const timeLeft = this.totalDeadline - log.endedAt
    const step = number - (this.backoffStart ?? 0)
    let delay = nextDelay(policy, number, log.result, retryAfter, this.delay, timeLeft, random, step)
    if (this.run?.context?.shouldRestartBackoff) this.backoffStart = number
    if (typeof delay === 'number') {
      if (this.admission?.isOpen()) delay = 'circuit_open'
      else if (budget !== undefined) {
        if (withdrawRetry(budget)) this.withdrawnAfter = number
        else delay = 'budget_spent'
      }
    }
    if (typeof delay === 'string') return this.stop(delay)
    this.delay = delay
    log.onRetryScheduled(delay)
    if (this.isEnded) return false // a listener aborted the call
    if (delay === 0 && number % YIELD_EVERY_ATTEMPTS !== 0 && policy.beforeRetry === undefined) return true
    this.wait = new RetryWait(this, delay)
    this.wait.start()
    return false
  }

  /** The deadline of the attempt or of the call has passed. */
  onDeadline(dueAt: number): void {
    const error = this.deadlines?.createError(dueAt)
    this.hedge?.promoteOldestRun()
    const { context } = this.run ?? {}
    const failure = context?.onDeadline?.()
    if (failure === undefined) this.abortAttempt(error, true)
    else this.hedge?.cancel(error, true)
    if (this.handleResult(true, failure ?? error, dueAt, context?.isFinal)) this.startNextAttempt()
  }

  /** When the call must have ended. */
  private get totalDeadline(): number {
    return this.deadlines?.total ?? Infinity
  }

  private startHedgedAttempt(hedge: HedgeSettings): Promise<unknown> {
    const { clock } = this.executor.settings
    this.hedge = new HedgedAttempt(new ExecutionHedgeHost(this), clock, hedge, this.run as AttemptRun)
    return this.hedge.start()
  }

  async callFunction(context: AttemptContext): Promise<unknown> {
    const { args, fn, self, slot } = this
    slot?.addRun()
    try {
      return await (args === undefined ? fn(context) : fn.apply(self, args))
    } finally {
      slot?.removeRun()
    }
  }

  private succeed(value: T): false {
    const { executor, hooks, hasSession } = this
    this.admission?.recordOutcome(false, value, undefined, undefined)
    if (this.isEnded) return false // a listener aborted the call
    this.release()
    if (hooks !== undefined || hasSession) {
      if (this.log !== undefined || hasSession)
        this.openLog().append(this.run as AttemptRun, 'success', false, value, undefined)
      hooks?.onSettled('succeeded', value)
    }
    if (executor.hasListeners) emitEvent(executor, 'succeeded', this.number, this.context, {})
    this.resolve(value)
    return false
  }

  /** Handles an attempt that was rejected before it started: the execution ends with its last error, or with this one. */
  private rejectAttempt(error: HoldfastError): false {
    // A user's pool can reject with any code.
    const stopped = rejectionReason(error.code) ?? 'pool_unavailable'
    if (this.number > 0) return this.stop(stopped)
    this.number = 1
    this.openLog().appendRejection(error)
    // The rejection waits until the caller has the promise: a rejection without a handler costs twice as much.
    void RESOLVED.then(() => this.stop(stopped))
    return false
  }

  /** Ends the execution with an error that no attempt threw. */
  stopWith(error: unknown, stopped: StopReason): void {
    this.openLog().recordError(error)
    this.stop(stopped)
  }

  /** Ends the execution with the last result, or with the value of the fallback. */
  stop(stopped: StopReason): false {
    if (!this.isEnded) this.settle(stopped, this.executor.settings.fallback)
    return false
  }

  /** The caller's signal was aborted. */
  abort(reason: unknown): void {
    this.cancel(reason, 'aborted')
  }

  /** Ends the execution at once, in any state. */
  cancel(reason: unknown, stopped: StopReason): void {
    const { currentAttempt, wait } = this
    if (this.isEnded) return
    if (currentAttempt > 0) {
      this.hedge?.promoteOldestRun()
      const run = this.run as AttemptRun
      this.admission?.releasePermit()
      this.members?.recordOutcome(run, true, reason, CANCELLED_ATTEMPT, undefined)
      this.openLog().appendFailure(run, true, reason, undefined)
    }
    this.openLog().recordError(reason)
    this.settle(stopped, undefined)
    if (currentAttempt > 0) this.abortAttempt(reason, false)
    wait?.abort(reason)
  }

  /** Aborts the signal of the current attempt, whose result is no longer awaited. */
  private abortAttempt(reason: unknown, isDeadline: boolean): void {
    this.run?.context?.abort(reason)
    this.hedge?.cancel(reason, isDeadline)
  }

  /** Reports the end of the execution, and settles its promise with the last result. */
  private settle(stopped: StopReason, fallback: Fallback | undefined): void {
    const log = this.openLog()
    const { hasThrown, result } = log
    this.release()
    const hookResult = log.onSettled(hasThrown ? stopped : 'unwanted_value')
    if (!hasThrown) this.resolve(result as T)
    else if (hookResult !== undefined) hookResult.then(() => this.reject(result))
    else if (fallback === undefined) this.reject(result)
    else runFallback(fallback, result, { attempt: this.number, context: this.context }, this.signal, this)
  }

  /** Releases everything that the execution holds, also a retry that was withdrawn and did not start. */
  private release(): void {
    if (this.withdrawnAfter === this.number) {
      const { budget, clock } = this.executor.settings
      returnRetry(budget as RetryBudget, clock.now() - (this.log as AttemptLog).endedAt)
    }
    this.isEnded = true
    this.currentAttempt = 0
    this.deadlines?.clear()
    this.wait?.end()
    if (this.signal !== undefined) offAbort(this.signal, this)
    this.slot?.end()
  }

  openLog(): AttemptLog {
    this.log ??= new AttemptLog(this)
    return this.log
  }
}

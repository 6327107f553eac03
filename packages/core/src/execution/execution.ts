import { type AbortListener, offAbort, onAbort } from '../abort.js'
import { bindContext } from '../async-context.js'
import { AttemptContext, type AttemptRun } from '../attempt/attempt.js'
import { Slot, type SlotOwner } from '../bulkhead/slot.js'
import type { Classification } from '../classify/index.js'
import { approximateStartTime, yieldTurn } from '../clock.js'
import { createDeferred, type Deferred } from '../deferred.js'
import type { HoldfastError } from '../errors.js'
import { runFallback } from '../fallback/fallback.js'
import { HedgedAttempt, type HedgeHost, type HedgeSettings } from '../hedge/hedge.js'
import type { Member } from '../pool/members/member.js'
import type { Selection } from '../pool/members/member-pool.js'
import { countCall, returnRetry, withdrawRetry } from '../retry/budget.js'
import {
  isExhausted,
  isRetryable,
  isStopRetrying,
  nextDelay,
  type StopReason,
  shouldRetryOutcome,
  unwrapStopRetrying,
} from '../retry/decide.js'
import type { CompiledRetryPolicy } from '../retry/options.js'
import {
  type AttemptRecord,
  attachSession,
  hasExhaustedSession,
  type Session,
  sessionSequence,
} from '../session/session.js'
import type { Admission } from './admission.js'
import { AttemptLog } from './attempt-log.js'
import { RetryPreparation } from './before-retry.js'
import { createAttemptTimeoutError, createBulkheadFullError, createTotalTimeoutError } from './errors.js'
import type { ExecutionEvent } from './events.js'
import { ExecutionDeadline } from './execution-deadline.js'
import type { Executor } from './executor.js'
import type { CallTimeouts, EffectivePolicy, ExecutionHooks } from './hooks.js'
import { MemberSelection } from './member-selection.js'
import { CANCELLED_ATTEMPT, hasStatus } from './outcome.js'

/** A guarded function: a wrapped one with its own arguments, or one that gets the attempt. */
// oxlint-disable-next-line no-explicit-any -- the types are checked by the public signatures
export type GuardedFunction = (...args: any[]) => unknown

/** Options of one call. */
export interface CallOptions {
  /** Ends the call at once when aborted, with the signal's reason. */
  signal?: AbortSignal | undefined
  /** Passed to events, the fallback, the breaker's key function and the pool. */
  context?: unknown
}

/** Copies the options that an execution reads, because the caller can change its object during the call. */
export const copyCallOptions = (options: CallOptions | undefined): CallOptions | undefined =>
  options && { context: options.context, signal: options.signal }

/** The value of a call, and its session. */
export interface Executed<T> {
  /** The value that the call resolved to. */
  readonly value: T
  /** The record of the call with all its attempts. */
  readonly session: Session
}

const RESOLVED = /* @__PURE__ */ Promise.resolve()

/** After this many attempts without a delay the event loop gets a turn, so that timers and aborts are handled. */
const YIELD_EVERY = 100

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
 * Results of attempts that are no longer awaited are ignored. Parts that few executions need (log, deadline, member
 * selection, hedging) are created when they are needed.
 */
export class Execution<T> implements Deferred<T>, AbortListener, SlotOwner, HedgeHost {
  resolve!: (value: T | PromiseLike<T>) => void
  reject!: (error: unknown) => void
  readonly executor: Executor
  private readonly fn: GuardedFunction
  private readonly self: unknown
  private readonly args: unknown[] | undefined
  private readonly options: CallOptions | undefined
  private readonly signal: AbortSignal | undefined
  private readonly hooks: ExecutionHooks | undefined
  private readonly admission: Admission | undefined
  private policy: CompiledRetryPolicy
  /** The number of the last attempt that started; 0 before the first. */
  number = 0
  /** The delay before the current attempt. */
  private delay = 0
  /** The number of the attempt whose result is awaited, else 0. The result of any other attempt is late and ignored. */
  private currentAttempt = 0
  /** Calls of the function that have not settled, awaited or not. The bulkhead slot is in use while there are any. */
  private pendingCalls = 0
  private isEnded = false
  /** Whether the last attempt threw. */
  private threw = false
  /** What the last attempt threw or returned. */
  private result: unknown = undefined
  private run: AttemptRun | undefined = undefined
  private log: AttemptLog | undefined = undefined
  /** When the first attempt started. */
  private beganAt = 0
  private totalDeadline = Number.POSITIVE_INFINITY
  /** The session sequence when the attempt started: a session with a higher number began inside the attempt. */
  private sequence = 0
  private ownPromise: Promise<T> | undefined = undefined
  /** The timer of a delay, or of a deadline that is in no queue. */
  private timer: unknown = undefined
  // Fields that few executions need are declared and not set, so that the others stay small.
  declare private deadline: ExecutionDeadline | undefined
  declare private members: MemberSelection | undefined
  declare private hedge: HedgedAttempt | undefined
  /** The slot of the bulkhead that the execution holds or waits for. */
  declare private slot: Slot | undefined
  /** The timeouts that replaced the guard's. */
  declare private timeouts: CallTimeouts | undefined
  /** Whether a success is recorded too, because the caller gets the session of the call. */
  declare private hasSession: boolean | undefined
  /** The run of `beforeRetry` that is awaited. */
  declare private preparation: RetryPreparation | undefined
  /** The number of the last attempt that restarted the backoff. */
  declare private backoffStart: number | undefined
  /** Why the execution ended without success. */
  declare private stopped: StopReason | undefined

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
    if (timeouts !== undefined) this.timeouts = timeouts
    this.admission = hooks === undefined ? executor.createAdmission(options, this.lease) : hooks.admission
  }

  /** The context of the call. It is read only where it is used, because that of a request is created when first read. */
  get context(): unknown {
    return this.options?.context
  }

  /** Created when first read, because an execution that takes over a first attempt settles the promise of that attempt. */
  get promise(): Promise<T> {
    this.ownPromise ??= createDeferred(this)
    return this.ownPromise
  }

  /** How long a probe can hold its permit: as long as an attempt can take. */
  get lease(): number | undefined {
    const { attemptTimeout } = this.timeouts ?? this.executor.settings
    return attemptTimeout < Infinity ? attemptTimeout : undefined
  }

  /** The maximum number of attempts, by the policy that applies now. */
  get maxAttempts(): number {
    return this.policy.maxAttempts
  }

  /** When the last attempt started. */
  get startedAt(): number {
    return this.run?.startedAt ?? 0
  }

  /** The pool member of the last attempt. */
  get member(): Member | undefined {
    return this.run?.selection?.member
  }

  /** The records of the attempts so far. */
  get attempts(): readonly AttemptRecord[] {
    return this.log?.records ?? []
  }

  // Start

  /** Starts the first attempt, or waits for a bulkhead slot. */
  start(): Promise<T> {
    const { promise, signal, executor } = this
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
    const { stopped = 'succeeded', threw, executor } = this
    const session = (this.log ?? new AttemptLog()).createSession(executor, stopped)
    if (threw && !session.success) session.served = 'fallback'
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
    this.pendingCalls = 1
    this.run = { number: 1, startedAt, context, selection: undefined, isMemberFault: undefined }
    this.admission?.resumePermit(epoch)
    this.beganAt = startedAt
    this.totalDeadline = startedAt + this.executor.settings.totalTimeout
    this.sequence = sequence
    return this
  }

  /** The bulkhead gave the execution a slot. */
  onSlot(): void {
    this.startNextAttempt()
  }

  /** The bulkhead has no slot for the execution. */
  onSlotRejected(): void {
    this.slot = undefined
    this.rejectAttempt(createBulkheadFullError(this.executor.settings.name), 'bulkhead_full')
  }

  // The retry loop

  /** Handles the result of an attempt and starts the next one. */
  onAttemptSettled(attempt: number, threw: boolean, result: unknown): void {
    Execution.continueWith(this, attempt, threw, result)
  }

  private startNextAttempt(): void {
    Execution.continueWith(this, 0, false, undefined)
  }

  /**
   * Handles the result of `attempt` (0 for none) and calls the function for the next attempt. It is static and called by the
   * promise itself, because each stack frame adds up to a microsecond to the creation of an error in the function, and keeps
   * the frame's `this` alive.
   */
  private static continueWith(
    execution: AnyExecution,
    attempt: number,
    threw: boolean,
    result: unknown,
  ): void {
    const { executor, args, fn, self } = execution
    if (!execution.prepareNextAttempt(attempt, threw, result)) return
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
  prepareNextAttempt(attempt: number, threw: boolean, result: unknown): boolean {
    if (attempt > 0) {
      this.pendingCalls--
      if (this.currentAttempt !== attempt || !this.handleResult(threw, result)) {
        this.releaseSlotIfIdle()
        return false
      }
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
    const { executor, number, admission } = this
    const { pool } = executor.settings
    // Permit and deadline use the same reading of the clock, so that a lease does not end before the deadline it covers.
    const now = this.readStartTime()
    this.timer = undefined
    const rejection = admission?.acquirePermit(now)
    if (rejection !== undefined) return this.rejectAttempt(rejection, 'circuit_open')
    if (this.isEnded) {
      admission?.releasePermit() // a listener aborted the call
      return false
    }
    if (now >= this.totalDeadline) {
      admission?.releasePermit()
      return this.stop('deadline') // the timer of the delay fired late
    }
    let selection: Selection | undefined
    if (pool !== undefined) {
      this.members ??= new MemberSelection(pool, executor.settings.clock, this.context, this.lease)
      selection = this.members.select()
      if (selection === undefined) {
        const error = pool.createUnavailableError()
        admission?.releasePermit()
        return this.rejectAttempt(error, error.code === 'NETWORK_DOWN' ? 'network_down' : 'pool_unavailable')
      }
    }
    const run = {
      number: number + 1,
      startedAt: now,
      context: undefined,
      selection,
      isMemberFault: undefined,
    }
    if (this.isEnded) {
      admission?.releasePermit() // a listener of the member's breaker aborted the call
      this.members?.recordOutcome(run, true, this.result, CANCELLED_ATTEMPT, undefined)
      return false
    }
    this.run = run
    this.number = number + 1
    this.currentAttempt = number + 1
    this.pendingCalls++
    this.sequence = sessionSequence()
    if (number === 0) {
      this.beganAt = now
      this.totalDeadline = now + (this.timeouts ?? executor.settings).totalTimeout
      if (executor.settings.budget !== undefined) countCall(executor.settings.budget)
    }
    if (executor.hasDeadline || this.timeouts !== undefined) this.startDeadline(now)
    return true
  }

  /** The start time of the next attempt. The clock is not read again where the last attempt ended just now. */
  private readStartTime(): number {
    const { executor, number } = this
    const { clock } = executor.settings
    const hasJustEnded =
      number > 0 &&
      number % YIELD_EVERY !== 0 &&
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
  private handleResult(threw: boolean, outcome: unknown, endedAt?: number, isFinal = false): boolean {
    const { executor, members } = this
    if (this.isEnded) return false
    const isStopped = isFinal || (threw && isStopRetrying(outcome))
    const result = isStopped ? unwrapStopRetrying(outcome) : outcome
    const isFailure = threw || this.isUnwantedValue(result)
    if (!isFailure && members === undefined) return this.succeed(result as T)
    const known = isFailure || hasStatus(result) ? executor.classify(result, threw) : undefined
    if (isFailure && this.hooks !== undefined) this.applyPolicy(this.hooks.policyFor(known))
    const isMemberFault =
      members !== undefined && members.recordOutcome(this.run as AttemptRun, threw, result, known, endedAt)
    if (!threw && (!(isFailure || isMemberFault) || this.isAbortOn(result, known)))
      return this.succeed(result as T)
    this.admission?.recordOutcome(threw, result, known, endedAt)
    if (this.isEnded) return false // a listener aborted the call
    this.recordFailure(threw, result, known)
    if (threw && endedAt !== undefined && endedAt >= this.totalDeadline) return this.stop('deadline')
    if (!isStopped && this.isNestedFailure(result)) return this.stop('nested')
    if (isStopped || (threw && !this.isRetryAllowed(result, known as Classification, isMemberFault)))
      return this.stop('not_retryable')
    // A rate-limited member gets time to recover while the call is sent to another one.
    const canFailOver = known?.kind === 'rate_limited' && members?.hasUntriedMember()
    return this.scheduleRetry(canFailOver ? undefined : known?.retryAfter)
  }

  /** Waits for the next attempt, or stops. Returns true where the next attempt starts now. */
  private scheduleRetry(retryAfter: number | undefined): boolean {
    const { executor, policy, number, totalDeadline, result } = this
    const { clock, random } = executor.settings
    if (this.isEnded) return false // a listener aborted the call
    const timeLeft = totalDeadline - (this.log as AttemptLog).endedAt
    const step = number - (this.backoffStart ?? 0)
    let delay = nextDelay(policy, number, result, retryAfter, this.delay, timeLeft, random, step)
    if (this.run?.context?.restartsBackoff) this.backoffStart = number
    if (typeof delay === 'number') {
      if (this.admission?.isOpen()) delay = 'circuit_open'
      else if (!this.withdrawFromBudget()) delay = 'budget_spent'
    }
    if (typeof delay === 'string') return this.stop(delay)
    this.delay = delay
    this.hooks?.onRetryScheduled(delay)
    if (executor.hasListeners)
      this.emit('retry_scheduled', number + 1, {
        ...this.lastOutcome(),
        maxAttempts: policy.maxAttempts,
        delay,
      })
    if (this.isEnded) return false
    if (delay === 0 && number % YIELD_EVERY !== 0) {
      if (policy.beforeRetry === undefined) return true
      this.prepareRetry()
    } else if (delay === 0) void yieldTurn(policy.maxAttempts).then(() => this.prepareRetry())
    // The timer is bound to the caller's async context, because a user's clock can fire all its timers from one place.
    else
      this.timer = clock.setTimer(
        bindContext(() => this.prepareRetry()),
        delay,
      )
    return false
  }

  /** Starts the next attempt, after `beforeRetry` where there is one. */
  private prepareRetry(): void {
    const { policy, executor, totalDeadline, number, delay, context } = this
    const { clock } = executor.settings
    this.timer = undefined
    if (this.isEnded) return
    if (policy.beforeRetry === undefined) {
      this.startNextAttempt()
      return
    }
    const now = clock.now()
    if (now >= totalDeadline) {
      this.stop('deadline') // the timer of the delay fired late
      return
    }
    const error = this.threw ? this.result : undefined
    const preparation = new RetryPreparation({ error, attempt: number + 1, delay, context })
    this.preparation = preparation
    if (totalDeadline < Infinity)
      this.timer = clock.setTimer(
        bindContext(() => this.onPreparationDeadline(preparation)),
        totalDeadline - now,
      )
    preparation.run(policy.beforeRetry).then(
      () => {
        if (this.preparation !== preparation) return
        this.endPreparation()
        this.startNextAttempt()
      },
      (thrown: unknown) => {
        if (this.preparation !== preparation) return
        this.endPreparation()
        const { budget } = executor.settings
        if (budget !== undefined) returnRetry(budget, clock.now() - (this.log as AttemptLog).endedAt)
        this.stopWith(thrown, 'before_retry')
      },
    )
  }

  /** The total deadline passed while `beforeRetry` was running. */
  private onPreparationDeadline(preparation: RetryPreparation): void {
    const { name, totalTimeout } = { ...this.executor.settings, ...this.timeouts }
    const error = createTotalTimeoutError(name, totalTimeout, this.log?.lastError())
    this.endPreparation()
    this.stopWith(error, 'deadline')
    preparation.abort(error)
  }

  private endPreparation(): void {
    this.preparation = undefined
    this.clearTimers()
  }

  // Decisions about one outcome

  /** Whether `retryIf` asks for a retry after a returned value. */
  private isUnwantedValue(value: unknown): boolean {
    const { policy, number } = this
    return policy.retryIf !== undefined && shouldRetryOutcome(policy, { value, attempt: number })
  }

  /** Whether `abortOn` lists the error or value, so that it is not retried. */
  private isAbortOn(result: unknown, known: Classification | undefined): boolean {
    return known !== undefined && this.policy.matchesAbortOn?.(result, known) === true
  }

  /** Whether a guard or server inside the attempt has used up its retries, and the policy does not add further ones. */
  private isNestedFailure(result: unknown): boolean {
    const { policy, executor, members, sequence } = this
    return (
      policy.nested === 'stop' &&
      (hasExhaustedSession(result, executor, sequence) || policy.reportsExhaustion?.(result) === true) &&
      !members?.hasUntriedMember()
    )
  }

  /** Whether the policy allows a retry after this error, regardless of how many attempts are left. */
  private isRetryAllowed(error: unknown, known: Classification, isMemberFault: boolean): boolean {
    // Another member can succeed where this one failed, unless `abortOn` lists the error.
    return isMemberFault ? !this.isAbortOn(error, known) : isRetryable(this.policy, error, known, this.number)
  }

  /** Withdraws a retry from the budget. Returns true where there is no budget. */
  private withdrawFromBudget(): boolean {
    const { budget } = this.executor.settings
    return budget === undefined || withdrawRetry(budget)
  }

  /** Applies another policy from here on; attempts and time are still counted over the whole execution. */
  private applyPolicy(effective: EffectivePolicy | undefined): void {
    if (effective === undefined || effective.policy === this.policy) return
    this.policy = effective.policy
    this.timeouts = effective
    this.totalDeadline = this.beganAt + effective.totalTimeout
  }

  private recordFailure(threw: boolean, result: unknown, known: Classification | undefined): void {
    const { executor, number } = this
    const run = this.run as AttemptRun
    const outcome = known?.kind === 'timeout' ? 'timeout' : 'failure'
    const duration = this.appendRecord(run, outcome, threw, result, known)
    this.threw = threw
    this.result = result
    this.clearTimers()
    this.currentAttempt = 0
    this.hooks?.onAttemptFailed(threw, result, known)
    if (executor.hasListeners)
      this.emit('attempt_failed', number, {
        ...this.lastOutcome(),
        duration,
        memberId: run.selection?.member.id,
      })
  }

  // Deadlines

  /** Starts the deadline that expires first: that of the attempt or that of the call. */
  private startDeadline(now: number): void {
    const { attemptDeadlines, totalDeadlines, settings } = this.executor
    const { attemptTimeout, totalTimeout } = this.timeouts ?? settings
    const dueAt = Math.min(now + attemptTimeout, this.totalDeadline)
    const isAttemptFirst = dueAt < this.totalDeadline && attemptTimeout === settings.attemptTimeout
    // A queue holds only deadlines of the guard's own timeouts.
    const isTotalFirst =
      this.number === 1 && dueAt === now + totalTimeout && totalTimeout === settings.totalTimeout
    if (dueAt < Infinity && (isAttemptFirst || isTotalFirst)) {
      this.deadline ??= new ExecutionDeadline(this)
      ;(isAttemptFirst ? attemptDeadlines : totalDeadlines).add(this.deadline, now)
    } else if (dueAt < Infinity)
      this.timer = settings.clock.setTimer(
        bindContext(() => this.onDeadline(dueAt)),
        dueAt - now,
      )
  }

  /** The deadline of the attempt or of the call has passed. */
  onDeadline(dueAt: number): void {
    const { number, totalDeadline, executor } = this
    const { name } = executor.settings
    const { attemptTimeout, totalTimeout } = this.timeouts ?? executor.settings
    const error =
      dueAt < totalDeadline
        ? createAttemptTimeoutError(name, number, attemptTimeout)
        : createTotalTimeoutError(name, totalTimeout, this.log?.lastError())
    this.timer = undefined
    this.hedge?.promoteOldestRun()
    const { context } = this.run ?? {}
    const failure = context?.onDeadline?.()
    if (failure === undefined) this.abortAttempt(error, true)
    else this.hedge?.cancel(error, true)
    if (this.handleResult(true, failure ?? error, dueAt, context?.isFinal)) this.startNextAttempt()
  }

  private clearTimers(): void {
    const { deadline, timer } = this
    if (deadline?.queue !== undefined) deadline.queue.remove(deadline)
    if (timer === undefined) return
    this.executor.settings.clock.clearTimer(timer)
    this.timer = undefined
  }

  // End

  private succeed(value: T): false {
    this.admission?.recordOutcome(false, value, undefined, undefined)
    if (this.isEnded) return false // a listener aborted the call
    this.release()
    if (this.hooks !== undefined || this.hasSession) {
      if (this.log !== undefined || this.hasSession)
        this.appendRecord(this.run as AttemptRun, 'success', false, value, undefined)
      this.hooks?.onSettled('succeeded', value)
    }
    if (this.executor.hasListeners) this.emit('succeeded', this.number, {})
    this.resolve(value)
    return false
  }

  /** Handles an attempt that was rejected before it started: the execution ends with its last error, or with this one. */
  private rejectAttempt(error: HoldfastError, stopped: StopReason): false {
    if (this.number > 0) this.stop(stopped)
    else {
      this.number = 1
      this.threw = true
      this.result = error
      this.log = new AttemptLog()
      this.log.appendRejection(this.executor, error)
      // The rejection waits until the caller has the promise: a rejection without a handler costs twice as much.
      void RESOLVED.then(() => this.stop(stopped))
    }
    return false
  }

  /** Ends the execution with an error that no attempt threw. */
  private stopWith(error: unknown, stopped: StopReason): void {
    this.threw = true
    this.result = error
    this.stop(stopped)
  }

  /** Ends the execution with the last result. */
  private stop(stopped: StopReason): false {
    const { executor, result, threw, number: attempt, context, signal } = this
    const { fallback } = executor.settings
    if (this.isEnded) return false
    const stored = this.finalize(threw ? stopped : 'unwanted_value')
    if (!threw) this.resolve(result as T)
    else if (stored !== undefined) stored.then(() => this.reject(result))
    else if (fallback === undefined) this.reject(result)
    else runFallback(fallback, result, { attempt, context }, signal, this)
    return false
  }

  /** The caller's signal was aborted. */
  abort(reason: unknown): void {
    this.cancel(reason, 'aborted')
  }

  /** Ends the execution at once, in any state. */
  cancel(reason: unknown, stopped: StopReason): void {
    const { currentAttempt } = this
    if (this.isEnded) return
    if (currentAttempt > 0) {
      this.hedge?.promoteOldestRun()
      const run = this.run as AttemptRun
      this.admission?.releasePermit()
      this.members?.recordOutcome(run, true, reason, CANCELLED_ATTEMPT, undefined)
      this.appendRecord(run, 'failure', true, reason, undefined)
    }
    this.threw = true
    this.result = reason
    const stored = this.finalize(stopped)
    if (stored === undefined) this.reject(reason)
    else stored.then(() => this.reject(reason))
    if (currentAttempt > 0) this.abortAttempt(reason, false)
    const { preparation } = this
    this.preparation = undefined
    preparation?.abort(reason)
  }

  /** Aborts the signal of the current attempt, whose result is no longer awaited. */
  private abortAttempt(reason: unknown, isDeadline: boolean): void {
    this.run?.context?.abort(reason)
    this.hedge?.cancel(reason, isDeadline)
  }

  /** Ends the execution and, where it failed, attaches its session to the error. */
  private finalize(stopped: StopReason): PromiseLike<unknown> | undefined {
    this.release()
    if (this.threw) {
      this.log ??= new AttemptLog()
      const { executor, result, policy, sequence } = this
      const session = this.log.createSession(executor, stopped)
      const hasExhausted =
        isExhausted(stopped, policy.maxAttempts) || hasExhaustedSession(result, executor, sequence)
      attachSession(result, session, executor, hasExhausted)
    }
    if (this.hasSession) this.stopped = stopped
    if (this.executor.hasListeners) this.emit('gave_up', this.number, { ...this.lastOutcome(), stopped })
    return this.hooks?.onSettled(stopped, this.result)
  }

  /** Releases everything that the execution holds. */
  private release(): void {
    this.isEnded = true
    this.currentAttempt = 0
    this.clearTimers()
    if (this.signal !== undefined) offAbort(this.signal, this)
    this.releaseSlotIfIdle()
  }

  /** Releases the bulkhead slot once the execution has ended and none of its calls is pending. */
  private releaseSlotIfIdle(): void {
    const { slot } = this
    if (slot === undefined || !this.isEnded || this.pendingCalls > 0) return
    this.slot = undefined
    slot.release()
  }

  // Records and events

  private appendRecord(
    run: AttemptRun,
    outcome: AttemptRecord['outcome'],
    threw: boolean,
    result: unknown,
    known: Classification | undefined,
  ): number {
    this.log ??= new AttemptLog()
    return this.log.append(this.executor, run, this.delay, outcome, threw, result, known, this.sequence)
  }

  /** The last result as fields of an event. */
  private lastOutcome(): { error: unknown } | { value: unknown } {
    return this.threw ? { error: this.result } : { value: this.result }
  }

  private emit(type: ExecutionEvent['type'], attempt: number, facts: object): void {
    const { listeners, settings } = this.executor
    const { name, clock } = settings
    listeners.emit({
      type,
      name,
      timestamp: clock.wall(),
      attempt,
      context: this.context,
      ...facts,
    } as ExecutionEvent)
  }

  // Hedging: what a HedgedAttempt calls

  private startHedgedAttempt(hedge: HedgeSettings): Promise<unknown> {
    this.hedge = new HedgedAttempt(this, this.executor.settings.clock, hedge, this.run as AttemptRun)
    return this.hedge.start()
  }

  async callFunction(context: AttemptContext): Promise<unknown> {
    const { args, fn, self } = this
    this.pendingCalls++
    try {
      return await (args === undefined ? fn(context) : fn.apply(self, args))
    } finally {
      this.pendingCalls--
      this.releaseSlotIfIdle()
    }
  }

  selectForHedge(): Selection | undefined | false {
    const { pool } = this.executor.settings
    // The budget comes last, so that no retry is withdrawn for a call that is not made.
    if (
      this.admission?.isClosed() === false ||
      pool?.hasUntriedMember([]) === false ||
      !this.withdrawFromBudget()
    )
      return false
    return pool === undefined ? undefined : (this.members?.select() ?? false)
  }

  onHedgeFailed(run: AttemptRun, outcome: unknown): { known: Classification; shouldHedge: boolean } {
    const error = unwrapStopRetrying(outcome)
    const known = this.executor.classify(error, true)
    const isMemberFault = this.members?.recordOutcome(run, true, error, known, undefined) ?? false
    const mustWait =
      known.retryAfter !== undefined && this.policy.respectRetryAfter && this.members === undefined
    const shouldHedge =
      !this.isNestedFailure(error) && this.isRetryAllowed(error, known, isMemberFault) && !mustWait
    return { known, shouldHedge: shouldHedge && !isStopRetrying(outcome) }
  }

  recordHedge(run: AttemptRun, error: unknown, known: Classification): void {
    this.appendRecord(run, known.kind === 'timeout' ? 'timeout' : 'failure', true, error, known)
  }

  cancelHedge(run: AttemptRun, reason: unknown, isDeadline: boolean): void {
    const known = isDeadline ? this.executor.classify(reason, true) : CANCELLED_ATTEMPT
    this.members?.recordOutcome(run, true, reason, known, undefined)
  }

  promoteRun(run: AttemptRun): void {
    this.run = run
  }
}

import { type AsyncScope, bindContext } from '../async-context.js'
import type { Classification } from '../classify/index.js'
import { approximateStartTime, yieldTurn } from '../clock.js'
import { createCheapError, type HoldfastError } from '../errors.js'
import { runFallback } from '../fallback/fallback.js'
import type { GuardEvent } from '../guard/events.js'
import type { GuardExecutor } from '../guard/guard-executor.js'
import { HedgedAttempt, type HedgeHost } from '../hedge/hedge.js'
import type { Member } from '../pool/members/member.js'
import type { Selection } from '../pool/members/member-pool.js'
import { reportOnce } from '../report.js'
import { isRetryable, nextDelay, type StopReason, shouldRetryOutcome } from '../retry/decide.js'
import type { CompiledRetryPolicy } from '../retry/options.js'
import { type AttemptRecord, sessionSequence } from '../session/session.js'
import type { DeadlineEntry, DeadlineQueue } from '../timeout/deadline-queue.js'
import { type AbortListener, offAbort, onAbort } from './abort.js'
import type { Admission } from './admission.js'
import { AttemptContext, type AttemptRun } from './attempt.js'
import { AttemptLog } from './attempt-log.js'
import { createDeferred, type Deferred } from './deferred.js'
import type { EffectivePolicy, ExecutionHooks } from './hooks.js'
import { MemberSelection } from './member-selection.js'
import { CANCELLED_ATTEMPT, hasStatus } from './outcome.js'

/** A guarded function: a wrapped one with its own arguments, or one that takes the attempt. */
// oxlint-disable-next-line no-explicit-any -- the types are checked by the public signatures
export type GuardedFunction = (...args: any[]) => unknown

/** What one call may be given besides its function. */
export interface CallOptions {
  /** Ends the call at once when aborted, with the signal's reason. */
  signal?: AbortSignal | undefined
  /** Passed to events, the fallback, the breaker's key function and the pool. */
  context?: unknown
}

const RESOLVED = Promise.resolve()

/** After this many attempts without a wait the event loop gets a turn, so that timers and an abort are served. */
const YIELD_EVERY = 100

// oxlint-disable-next-line no-explicit-any -- the static continuation passes any result on
type AnyExecution = Execution<any>

/** The place of an execution in a queue of deadlines. */
export class ExecutionDeadline implements DeadlineEntry {
  startedAt = 0
  prev: DeadlineEntry | undefined = undefined
  next: DeadlineEntry | undefined = undefined
  queue: DeadlineQueue | undefined = undefined
  scope: AsyncScope | undefined = undefined
  private readonly execution: AnyExecution

  constructor(execution: AnyExecution) {
    this.execution = execution
  }

  onDeadline(dueAt: number): void {
    this.execution.onDeadline(dueAt)
  }
}

/**
 * One call that needs more than its first attempt: attempts and waits, driven by events (a result, a timer, a deadline, an
 * abort) until it settles once. Results of attempts that are no longer awaited change nothing. Parts that few executions
 * need (log, deadline, member selection, hedging) are created when they are needed.
 */
export class Execution<T> implements Deferred<T>, AbortListener, HedgeHost {
  resolve!: (value: T | PromiseLike<T>) => void
  reject!: (error: unknown) => void
  readonly executor: GuardExecutor
  readonly context: unknown
  private readonly fn: GuardedFunction
  private readonly self: unknown
  private readonly args: unknown[] | undefined
  private readonly signal: AbortSignal | undefined
  private readonly hooks: ExecutionHooks | undefined
  private readonly admission: Admission | undefined
  private policy: CompiledRetryPolicy
  /** The number of the last attempt that began; 0 before the first. */
  number = 0
  /** The wait before the current attempt. */
  private delay = 0
  /** The number of the attempt whose result is awaited, else 0. The result of any other attempt is late and ignored. */
  private currentAttempt = 0
  /** Calls of the function that have not settled, awaited or not: while there are any, the bulkhead slot is used. */
  private pendingCalls = 0
  private isEnded = false
  /** Whether the last attempt threw, and what it threw or returned. */
  private threw = false
  private result: unknown = undefined
  private run: AttemptRun | undefined = undefined
  private log: AttemptLog | undefined = undefined
  /** When the first attempt began. */
  private beganAt = 0
  private totalDeadline = Number.POSITIVE_INFINITY
  /** The session sequence when the attempt began: a session with a higher number began inside it. */
  private sequence = 0
  private ownPromise: Promise<T> | undefined = undefined
  /** A wait, or a deadline that is in no queue. */
  private timer: unknown = undefined
  // Fields that few executions need are declared and not set, so that the others stay small.
  declare private deadline: ExecutionDeadline | undefined
  declare private members: MemberSelection | undefined
  declare private hedge: HedgedAttempt | undefined
  /** Returns the bulkhead slot, or leaves the bulkhead's queue. */
  declare private releaseSlot: (() => void) | undefined
  /** The policy and timeouts that replaced the guard's. */
  declare private effective: EffectivePolicy | undefined

  constructor(
    executor: GuardExecutor,
    fn: GuardedFunction,
    self: unknown,
    args: unknown[] | undefined,
    policy: CompiledRetryPolicy,
    options: CallOptions | undefined,
    hooks?: ExecutionHooks,
  ) {
    this.executor = executor
    this.fn = fn
    this.self = self
    this.args = args
    this.policy = policy
    this.context = options?.context
    this.signal = options?.signal ?? undefined
    this.hooks = hooks
    this.admission = hooks === undefined ? executor.createAdmission(this.context) : hooks.admission
  }

  /** Created when first read: an execution that takes over from a first attempt settles that attempt's promise. */
  get promise(): Promise<T> {
    this.ownPromise ??= createDeferred(this)
    return this.ownPromise
  }

  /** How many attempts there may be, by the policy that applies now. */
  get maxAttempts(): number {
    return this.policy.maxAttempts
  }

  /** When the last attempt began. */
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

  /** Starts the first attempt, or waits for a bulkhead slot. */
  start(): Promise<T> {
    const { promise, signal, executor } = this
    const { bulkhead, name = 'a call' } = executor.settings
    if (signal?.aborted) this.abort(signal.reason)
    else {
      if (signal !== undefined) onAbort(signal, this)
      if (bulkhead === undefined) this.startNextAttempt()
      else {
        const onSlot = () => {
          this.releaseSlot = () => bulkhead.releaseSlot()
          this.startNextAttempt()
        }
        this.releaseSlot = () => bulkhead.cancelWait(onSlot)
        if (!bulkhead.acquireSlot(onSlot))
          this.rejectAttempt(
            createCheapError('BULKHEAD_FULL', `${name} has no room to run or wait`, {}),
            'bulkhead_full',
          )
      }
    }
    return promise
  }

  /** Takes over a first attempt that began without an execution. */
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

  /** Handles the result of an attempt and starts the next one. */
  onAttemptSettled(attempt: number, threw: boolean, result: unknown): void {
    Execution.continueWith(this, attempt, threw, result)
  }

  private startNextAttempt(): void {
    Execution.continueWith(this, 0, false, undefined)
  }

  /**
   * Handles the result of `attempt` (0 for none) and calls the function for the next one. Static, and called by the promise
   * itself: each stack frame costs an error that is created there up to a microsecond, and keeps the frame's `this` alive.
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
      if (executor.settings.hedge !== undefined) execution.awaitResult(execution.startHedgedAttempt())
      else if (args === undefined) execution.awaitResult(fn(execution.createAttemptContext()))
      else execution.awaitResult(args.length === 1 ? fn.call(self, args[0]) : fn.apply(self, args))
    } catch (error) {
      execution.awaitResult(Promise.reject(error))
    }
  }

  /**
   * Handles the result of `attempt` (0 for none) and prepares the next one. Where it returns true, the caller calls the
   * function and passes what it returns to {@link awaitResult}.
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

  /** Continues with the result of what the function returned. */
  awaitResult(returned: unknown): void {
    const { number } = this
    const { continueWith } = Execution
    const promise = returned instanceof Promise ? returned : Promise.resolve(returned)
    promise.then(
      continueWith.bind(undefined, this, number, false),
      continueWith.bind(undefined, this, number, true),
    )
  }

  /** Acquires what an attempt needs: a permit, time, a pool member. False where it was rejected. */
  private prepareAttempt(): boolean {
    const { executor, number, admission } = this
    const { clock, pool } = executor.settings
    // One reading of the clock for permit and deadline: a lease must not end before the deadline it covers.
    const now =
      number > 0 && number % YIELD_EVERY !== 0 && this.delay === 0 && !executor.hasListeners
        ? (this.log as AttemptLog).endedAt
        : number === 0 && executor.canShareStartTime
          ? approximateStartTime(clock)
          : clock.now()
    this.timer = undefined
    const rejection = admission?.acquirePermit(now)
    if (rejection !== undefined) return this.rejectAttempt(rejection, 'circuit_open')
    if (this.isEnded) {
      admission?.releasePermit() // a listener aborted the call
      return false
    }
    if (now >= this.totalDeadline) {
      admission?.releasePermit()
      return this.stop('deadline') // the wait took longer than it should
    }
    let selection: Selection | undefined
    if (pool !== undefined) {
      this.members ??= new MemberSelection(pool, executor.settings, this.context, executor.lease)
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
      this.totalDeadline = now + executor.settings.totalTimeout
      this.depositCall()
    }
    if (executor.hasDeadline || this.effective !== undefined) this.startDeadline(now)
    return true
  }

  /** Sets the deadline that comes first: the attempt's or the call's. */
  private startDeadline(now: number): void {
    const { attemptDeadlines, totalDeadlines, settings } = this.executor
    const { attemptTimeout } = this.effective ?? settings
    const dueAt = Math.min(now + attemptTimeout, this.totalDeadline)
    const isAttemptFirst = dueAt < this.totalDeadline && attemptTimeout === settings.attemptTimeout
    if (isAttemptFirst || this.number === 1) {
      this.deadline ??= new ExecutionDeadline(this)
      ;(isAttemptFirst ? attemptDeadlines : totalDeadlines).add(this.deadline, now)
    } else if (dueAt < Infinity)
      this.timer = settings.clock.setTimer(
        bindContext(() => this.onDeadline(dueAt)),
        dueAt - now,
      )
  }

  /** The attempt's deadline has passed, or the call's. */
  onDeadline(dueAt: number): void {
    const { number, totalDeadline, executor } = this
    const { name = 'a call' } = executor.settings
    const { attemptTimeout, totalTimeout } = this.effective ?? executor.settings
    const error =
      dueAt < totalDeadline
        ? createCheapError(
            'ATTEMPT_TIMEOUT',
            `attempt ${number} of ${name} took over ${attemptTimeout} ms`,
            {},
          )
        : createCheapError(
            'TOTAL_TIMEOUT',
            `${name} took over ${totalTimeout} ms in all`,
            this.log?.lastError() ?? {},
          )
    this.timer = undefined
    this.hedge?.promoteOldestRun()
    const failure = this.run?.context?.onDeadline?.()
    if (failure === undefined) this.abortAttempt(error, true)
    else this.hedge?.cancel(error, true)
    if (this.handleResult(true, failure ?? error, dueAt)) this.startNextAttempt()
  }

  /** Handles the outcome of the current attempt, which ended `at` that time or just now. True: the next one starts now. */
  private handleResult(threw: boolean, result: unknown, at?: number): boolean {
    const { executor, number, hooks, members } = this
    const run = this.run as AttemptRun
    let { policy } = this
    if (this.isEnded) return false
    const isUnwanted =
      !threw && policy.retryIf !== undefined && shouldRetryOutcome(policy, { value: result, attempt: number })
    if (!threw && !isUnwanted && members === undefined) return this.succeed(result as T)
    const known = threw || isUnwanted || hasStatus(result) ? executor.classify(result, threw) : undefined
    const effective = threw || isUnwanted ? hooks?.policyFor(known) : undefined
    if (effective !== undefined && effective.policy !== policy) {
      this.switchPolicy(effective)
      policy = effective.policy
    }
    const isMemberFault = members !== undefined && members.recordOutcome(run, threw, result, known, at)
    if (
      !threw &&
      (!(isUnwanted || isMemberFault) || (known !== undefined && policy.matchesAbortOn?.(result, known)))
    )
      return this.succeed(result as T)
    this.admission?.recordOutcome(threw, result, known, at)
    if (this.isEnded) return false // a listener aborted the call
    const duration = this.appendRecord(
      run,
      known?.kind === 'timeout' ? 'timeout' : 'failure',
      threw,
      result,
      known,
    )
    this.threw = threw
    this.result = result
    this.clearTimers()
    this.currentAttempt = 0
    hooks?.onAttemptFailed(threw, result, known)
    if (executor.hasListeners)
      this.emit('attempt_failed', number, {
        ...this.lastOutcome(),
        duration,
        memberId: run.selection?.member.id,
      })
    if (threw && at !== undefined && at >= this.totalDeadline) return this.stop('deadline')
    if (threw && !this.isRetryAllowed(result, known as Classification, isMemberFault))
      return this.stop('not_retryable')
    // A rate-limited member is left to recover while the call goes to another one.
    const canFailOver = known?.kind === 'rate_limited' && members?.hasUntriedMember()
    return this.scheduleRetry(canFailOver ? undefined : known?.retryAfter)
  }

  /** Applies another policy from here on; attempts and time are still counted over the whole execution. */
  private switchPolicy(effective: EffectivePolicy): void {
    this.policy = effective.policy
    this.effective = effective
    this.totalDeadline = this.beganAt + effective.totalTimeout
  }

  /** Whether the policy allows a retry after this error, however many attempts are left. */
  private isRetryAllowed(error: unknown, known: Classification, isMemberFault: boolean): boolean {
    const { policy, number } = this
    // Another member may succeed where this one failed, unless `abortOn` names the error.
    return isMemberFault ? !policy.matchesAbortOn?.(error, known) : isRetryable(policy, error, known, number)
  }

  /** Waits for the next attempt, or stops. True: it starts now. */
  private scheduleRetry(retryAfter: number | undefined): boolean {
    const { executor, policy, number, totalDeadline, result } = this
    const { clock, random } = executor.settings
    if (this.isEnded) return false // a listener aborted the call
    const timeLeft = totalDeadline - (this.log as AttemptLog).endedAt
    let delay = nextDelay(policy, number, result, retryAfter, this.delay, timeLeft, random)
    if (typeof delay === 'number') {
      if (this.admission?.isOpen()) delay = 'circuit_open'
      else if (!this.withdrawRetry()) delay = 'budget_spent'
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
    if (delay === 0) {
      if (number % YIELD_EVERY !== 0) return true
      void yieldTurn(policy.maxAttempts).then(() => this.startNextAttempt())
      return false
    }
    // A user's clock may fire all its timers from one place.
    this.timer = clock.setTimer(
      bindContext(() => this.startNextAttempt()),
      delay,
    )
    return false
  }

  /** Tells the budget of a call, where there is one. */
  private depositCall(): void {
    const { budget } = this.executor.settings
    try {
      budget?.deposit()
    } catch (error) {
      reportOnce('the retry budget', budget as object, error)
    }
  }

  /** Takes a retry from the budget, where there is one. A budget that throws allows none. */
  private withdrawRetry(): boolean {
    const { budget } = this.executor.settings
    try {
      return budget === undefined || budget.withdraw()
    } catch (error) {
      reportOnce('the retry budget', budget as object, error)
      return false
    }
  }

  /** An attempt was rejected before it began: the execution ends with the error it had, or with this one. */
  private rejectAttempt(error: HoldfastError, stopped: StopReason): false {
    if (this.number > 0) this.stop(stopped)
    else {
      const timestamp = this.executor.settings.clock.wall()
      this.number = 1
      this.threw = true
      this.result = error
      this.log = new AttemptLog()
      this.log.records.push({
        number: 1,
        timestamp,
        delay: 0,
        duration: 0,
        outcome: 'circuit_open',
        error,
      })
      // Rejected after the caller received the promise: a rejection without a handler costs as much again.
      void RESOLVED.then(() => this.stop(stopped))
    }
    return false
  }

  private succeed(value: T): false {
    this.admission?.recordOutcome(false, value, undefined, undefined)
    if (this.isEnded) return false // a listener aborted the call
    this.release()
    if (this.hooks !== undefined) {
      if (this.log !== undefined)
        this.appendRecord(this.run as AttemptRun, 'success', false, value, undefined)
      this.hooks.onSettled('succeeded', value)
    }
    if (this.executor.hasListeners) this.emit('succeeded', this.number, {})
    this.resolve(value)
    return false
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

  /** Ends the execution at once, whatever it is doing. */
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
  }

  /** Aborts the signal of the current attempt, whose result is no longer awaited. */
  private abortAttempt(reason: unknown, isDeadline: boolean): void {
    this.run?.context?.abort(reason)
    this.hedge?.cancel(reason, isDeadline)
  }

  /** Ends the execution and, where it failed, attaches its session to the error. */
  private finalize(stopped: StopReason): PromiseLike<unknown> | undefined {
    this.release()
    if (this.threw) (this.log ?? new AttemptLog()).attachSession(this.executor, this.result, stopped)
    if (this.executor.hasListeners) this.emit('gave_up', this.number, { ...this.lastOutcome(), stopped })
    return this.hooks?.onSettled(stopped, this.result)
  }

  /** Gives back everything the execution holds. */
  private release(): void {
    this.isEnded = true
    this.currentAttempt = 0
    this.clearTimers()
    if (this.signal !== undefined) offAbort(this.signal, this)
    this.releaseSlotIfIdle()
  }

  /** Returns the bulkhead slot once the execution has ended and none of its calls is pending. */
  private releaseSlotIfIdle(): void {
    if (this.releaseSlot === undefined || !this.isEnded || this.pendingCalls > 0) return
    this.releaseSlot()
    this.releaseSlot = undefined
  }

  private clearTimers(): void {
    const { deadline, timer } = this
    if (deadline?.queue !== undefined) deadline.queue.remove(deadline)
    if (timer === undefined) return
    this.executor.settings.clock.clearTimer(timer)
    this.timer = undefined
  }

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

  private emit(type: GuardEvent['type'], attempt: number, facts: object): void {
    const { listeners, settings } = this.executor
    const { name, clock } = settings
    listeners.emit({
      type,
      name,
      timestamp: clock.wall(),
      attempt,
      context: this.context,
      ...facts,
    } as GuardEvent)
  }

  private startHedgedAttempt(): Promise<unknown> {
    const { settings } = this.executor
    this.hedge = new HedgedAttempt(this, settings, this.run as AttemptRun)
    return this.hedge.start()
  }

  // HedgeHost

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
    // The budget is asked last: nothing is withdrawn for a call that is not made.
    if (this.admission?.isClosed() === false || pool?.hasUntriedMember([]) === false || !this.withdrawRetry())
      return false
    return pool === undefined ? undefined : (this.members?.select() ?? false)
  }

  onHedgeFailed(run: AttemptRun, error: unknown): { known: Classification; shouldHedge: boolean } {
    const known = this.executor.classify(error, true)
    const isMemberFault = this.members?.recordOutcome(run, true, error, known, undefined) ?? false
    const mustWait =
      known.retryAfter !== undefined && this.policy.respectRetryAfter && this.members === undefined
    return { known, shouldHedge: this.isRetryAllowed(error, known, isMemberFault) && !mustWait }
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

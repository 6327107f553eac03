import { bindContext } from '../async-context.js'
import type { Classification } from '../classify/index.js'
import { startStamp, yieldTurn } from '../clock.js'
import { type HoldfastError, refusal } from '../errors.js'
import { asksAgain, isRetryable, nextDelay, type StopReason } from '../retry/decide.js'
import type { RetryPolicy } from '../retry/options.js'
import { follow } from './abort.js'
import { Flight } from './attempt.js'
import type { GuardCore } from './core.js'
import { type CallOptions, Ending } from './ending.js'
import { hedged } from './hedge.js'
import { sessionsKept } from './session.js'
import { hasStatus } from './verdict.js'

/** A function to guard: a wrapped one with arguments of its own, or one that takes the attempt. */
// oxlint-disable-next-line no-explicit-any -- the types are checked where it comes in
export type Guarded = (...args: any[]) => unknown

/** What a call goes by from one failure to the next. */
export interface Rules {
  readonly policy: RetryPolicy
  readonly attemptTimeout: number
  readonly totalTimeout: number
}

const NOW = Promise.resolve()

/** After so many attempts without a wait the event loop gets a turn: timers and an abort must come through. */
const BREATHE = 100

// oxlint-disable-next-line no-explicit-any -- who drives a call hands on what it is given, whatever that is
type AnyCall = Call<any>

/**
 * The life of a call that needs more than the quick path: attempts and waits, driven by what happens to it. It is itself
 * the leg that runs, the breaker's pass and the entry in a list of deadlines, so that a call is one object.
 */
export class Call<T> extends Ending<T> {
  private readonly fn: Guarded
  private readonly self: unknown
  private readonly args: unknown[] | undefined
  protected policy: RetryPolicy
  private totalDue = Number.POSITIVE_INFINITY
  /** What it goes by instead of its guard's deadlines, and when it began, where that was changed. */
  declare private rules: Rules | undefined
  declare private begunAt: number | undefined

  constructor(
    guard: GuardCore,
    fn: Guarded,
    self: unknown,
    args: unknown[] | undefined,
    policy: RetryPolicy,
    options: CallOptions | undefined,
  ) {
    super(guard, options)
    this.fn = fn
    this.self = self
    this.args = args
    this.policy = policy
  }

  /** Begins with the first attempt, or by waiting for a place in the bulkhead. */
  start(): Promise<T> {
    const { promise, signal, guard } = this
    const { bulkhead, name = 'a call' } = guard.settings
    if (signal?.aborted) this.abort(signal.reason)
    else {
      if (signal !== undefined) follow(signal, this)
      if (bulkhead === undefined) this.proceed(0, false, undefined)
      else {
        const enter = () => {
          this.free = () => bulkhead.free()
          this.proceed(0, false, undefined)
        }
        this.free = () => bulkhead.leave(enter)
        if (!bulkhead.join(enter))
          this.refused(refusal('BULKHEAD_FULL', `${name} has no room to run or wait`, {}), 'bulkhead_full')
      }
    }
    return promise
  }

  /** Takes over a first attempt that the quick path made; {@link proceed} is to be told how it ended. */
  adopt(flight: Flight | undefined, epoch: number, startedAt: number, keptBefore: number): this {
    this.number = 1
    this.running = 1
    this.unsettled = 1
    this.flight = flight
    this.pass.epoch = epoch
    this.startedAt = startedAt
    this.totalDue = startedAt + this.guard.settings.totalTimeout
    this.keptBefore = keptBefore
    return this
  }

  /** Takes the result of attempt `ended`, 0 where there is none, and begins the next. */
  proceed(ended: number, threw: boolean, result: unknown): void {
    Call.proceed(this, ended, threw, result)
  }

  /**
   * The same. It calls the function itself and is called from the promise itself: each frame on the stack costs an error
   * made there up to a microsecond. And it is no method: an error keeps the `this` of each frame alive.
   */
  private static proceed(call: AnyCall, ended: number, threw: boolean, result: unknown): void {
    const { guard, args, fn, self } = call
    if (!call.advance(ended, threw, result)) return
    try {
      if (guard.settings.hedge !== undefined) call.expect(hedged(call))
      else if (args === undefined) call.expect(fn(call.depart()))
      else call.expect(args.length === 1 ? fn.call(self, args[0]) : fn.apply(self, args))
    } catch (error) {
      call.expect(Promise.reject(error))
    }
  }

  /**
   * Takes the result of attempt `ended`, 0 where there is none, and makes ready for the next. Tells whether there is one:
   * the function is to be called then, and what it returns is told to {@link expect}.
   */
  advance(ended: number, threw: boolean, result: unknown): boolean {
    if (ended > 0) {
      this.unsettled--
      if (this.running !== ended || !this.settle(threw, result)) {
        this.leave()
        return false
      }
    }
    return this.board()
  }

  /** What a function is told that takes the attempt. */
  depart(): Flight {
    this.flight = new Flight(this.number, this.pick?.member)
    return this.flight
  }

  /** Goes on with the result of what the function returned. */
  expect(returned: unknown): void {
    const { number } = this
    const { proceed } = Call
    const promise = returned instanceof Promise ? returned : Promise.resolve(returned)
    promise.then(proceed.bind(undefined, this, number, false), proceed.bind(undefined, this, number, true))
  }

  /** Calls the function for a part of a hedged attempt. */
  async part(flight: Flight): Promise<unknown> {
    const { args, fn, self } = this
    this.unsettled++
    try {
      return await (args === undefined ? fn(flight) : fn.apply(self, args))
    } finally {
      this.unsettled--
      this.leave()
    }
  }

  /** A failure was classified: what follows may go by other rules. */
  protected ruled(_known: Classification | undefined): Rules | undefined {
    return undefined
  }

  /** The next attempt comes after `wait`. */
  protected waiting(_wait: number): void {}

  /** Makes ready for a new attempt: the breaker lets it through, and it has a member to go to. False: it was refused. */
  private board(): boolean {
    const { guard, number } = this
    const { clock, budget, pool } = guard.settings
    // One reading for all: a lease that begins before the deadline it stands for would end before it too.
    const now =
      number > 0 && number % BREATHE !== 0 && this.delay === 0 && !guard.heard
        ? this.endedAt
        : number === 0 && guard.timeless
          ? startStamp(clock)
          : clock.now()
    this.timer = undefined
    const refused = this.admit(now)
    if (refused !== undefined) return this.refused(refused, 'circuit_open')
    if (this.ended) {
      this.excuse() // by a listener
      return false
    }
    if (now >= this.totalDue) {
      this.excuse()
      return this.stop('deadline') // the wait took longer than it should
    }
    if (pool !== undefined) {
      this.pick = this.choose()
      this.elsewhere = undefined
      if (this.pick === undefined) {
        const error = pool.refusal()
        this.excuse()
        return this.refused(error, error.code === 'NETWORK_DOWN' ? 'network_down' : 'pool_unavailable')
      }
    }
    this.startedAt = now
    this.number = number + 1
    this.running = number + 1
    this.unsettled++
    this.keptBefore = sessionsKept()
    if (number === 0) {
      this.totalDue = now + guard.settings.totalTimeout
      budget?.deposit()
    }
    if (guard.timed || this.rules !== undefined) this.watch(now)
    return true
  }

  /** Sets the one deadline that comes first: the attempt's or the call's. */
  private watch(now: number): void {
    const { attemptDeadlines, totalDeadlines, settings } = this.guard
    const { attemptTimeout } = this.rules ?? settings
    const due = Math.min(now + attemptTimeout, this.totalDue)
    if (due < this.totalDue && attemptTimeout === settings.attemptTimeout) attemptDeadlines.add(this, now)
    else if (this.number === 1) totalDeadlines.add(this, now)
    else if (due < Infinity)
      this.timer = settings.clock.setTimer(
        bindContext(() => this.expire(due)),
        due - now,
      )
  }

  /** Goes by other rules from here on; attempts and time are counted over the whole call all the same. */
  private go(rules: Rules): void {
    const { totalTimeout } = this.guard.settings
    this.begunAt ??= totalTimeout < Infinity ? this.totalDue - totalTimeout : this.startedAt
    this.policy = rules.policy
    this.rules = rules
    this.totalDue = this.begunAt + rules.totalTimeout
  }

  /** The attempt's time is up, or the call's. */
  override expire(due: number): void {
    const { number, totalDue, guard } = this
    const { name = 'a call' } = guard.settings
    const { attemptTimeout, totalTimeout } = this.rules ?? guard.settings
    const error =
      due < totalDue
        ? refusal('ATTEMPT_TIMEOUT', `attempt ${number} of ${name} took over ${attemptTimeout} ms`, {})
        : refusal('TOTAL_TIMEOUT', `${name} took over ${totalTimeout} ms in all`, this.lastError())
    this.timer = undefined
    this.unite?.()
    this.cut(error)
    if (this.settle(true, error, due)) this.proceed(0, false, undefined)
  }

  /** The attempt ended, `at` a time that may be past: a deadline ends it when due. Tells whether the next begins now. */
  private settle(threw: boolean, result: unknown, at?: number): boolean {
    const { guard, number } = this
    let { policy } = this
    if (this.ended) return false
    const asked =
      !threw && policy.retryIf !== undefined && asksAgain(policy, { value: result, attempt: number })
    if (!threw && !asked && this.pick === undefined) return this.succeed(result as T)
    const known = threw || asked || hasStatus(result) ? guard.classify(result, threw) : undefined
    const rules = threw || asked ? this.ruled(known) : undefined
    if (rules !== undefined && rules.policy !== policy) {
      this.go(rules)
      policy = rules.policy
    }
    const elsewhere = this.credit(this, threw, result, known, at)
    if (!threw && (!(asked || elsewhere) || (known !== undefined && policy.unwanted?.(result, known))))
      return this.succeed(result as T)
    this.judge(threw, result, known, at)
    if (this.ended) return false // by a listener
    const duration = this.record(
      this,
      known?.kind === 'timeout' ? 'timeout' : 'failure',
      threw,
      result,
      known,
    )
    this.threw = threw
    this.result = result
    this.unwatch()
    this.running = 0
    this.noted(threw, result, known)
    if (guard.heard)
      this.tell('attempt_failed', number, { ...this.outcome(), duration, memberId: this.pick?.member.id })
    if (threw && at !== undefined && at >= this.totalDue) return this.stop('deadline')
    if (threw && !this.wantsAgain(result, known as Classification, elsewhere))
      return this.stop('not_retryable')
    // A member that asks for rest gets it; the call goes to another, while there is one.
    const others = known?.kind === 'rate_limited' && guard.settings.pool?.hasOther(this.picks ?? [])
    return this.next(others ? undefined : known?.retryAfter)
  }

  /**
   * Whether there is another attempt after this error, leaving aside how many are left: for one that another member may do
   * better with as well, unless `abortOn` names it.
   */
  wantsAgain(error: unknown, known: Classification, elsewhere: boolean): boolean {
    const { policy, number } = this
    return elsewhere ? !policy.unwanted?.(error, known) : isRetryable(policy, error, known, number)
  }

  /** Whether another call at once would come to the one who has just asked for time. */
  asksForTime({ retryAfter }: Classification): boolean {
    return retryAfter !== undefined && this.policy.respectRetryAfter && this.guard.settings.pool === undefined
  }

  /** Waits for the next attempt, or stops. Tells whether it begins now. */
  private next(retryAfter: number | undefined): boolean {
    const { guard, policy, number, totalDue, result } = this
    const { clock, random, budget } = guard.settings
    if (this.ended) return false // by a listener
    let wait = nextDelay(policy, number, result, retryAfter, this.delay, totalDue - this.endedAt, random)
    if (typeof wait === 'number') {
      if (this.halted()) wait = 'circuit_open'
      else if (budget !== undefined && !budget.withdraw()) wait = 'budget_spent'
    }
    if (typeof wait === 'string') return this.stop(wait)
    this.delay = wait
    this.waiting(wait)
    if (guard.heard)
      this.tell('retry_scheduled', number + 1, {
        ...this.outcome(),
        maxAttempts: policy.maxAttempts,
        delay: wait,
      })
    if (this.ended) return false
    if (wait === 0) {
      if (number % BREATHE !== 0) return true
      void yieldTurn().then(() => this.proceed(0, false, undefined))
      return false
    }
    // A clock of the user's may fire all its timers from one place.
    this.timer = clock.setTimer(
      bindContext(() => this.proceed(0, false, undefined)),
      wait,
    )
    return false
  }

  /** The next attempt is not let through: the call ends with the error it had, or with this one. */
  private refused(error: HoldfastError, stopped: StopReason): false {
    if (this.number > 0) this.stop(stopped)
    else {
      const timestamp = this.guard.settings.clock.wall()
      this.number = 1
      this.threw = true
      this.result = error
      this.attempts = [{ number: 1, timestamp, delay: 0, duration: 0, outcome: 'circuit_open', error }]
      // Once the caller has had the promise: a rejection that nobody handles yet costs as much again.
      void NOW.then(() => this.stop(stopped))
    }
    return false
  }
}

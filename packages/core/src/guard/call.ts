import type { CircuitBreaker } from '../breaker/breaker.js'
import type { Pass } from '../breaker/permit.js'
import type { Classification } from '../classify/index.js'
import { settled, startStamp } from '../clock.js'
import { type HoldfastError, refusal } from '../errors.js'
import type { Pick } from '../pool/protocol.js'
import { asksAgain, isRetryable, nextDelay, type StopReason } from '../retry/decide.js'
import type { RetryPolicy } from '../retry/options.js'
import { follow, unfollow } from './abort.js'
import { Flight } from './attempt.js'
import { fallBack } from './fallback.js'
import type { GuardCore } from './guard.js'
import { hedged } from './hedge.js'
import { Journal, type Leg } from './journal.js'
import { sessionsKept } from './session.js'
import { CALLED_OFF, hasStatus, verdictOf } from './verdict.js'

/** What a call may be given besides its function. */
export interface CallOptions {
  /** Ends the call at once when aborted, with the signal's reason. */
  signal?: AbortSignal | undefined
  /** Handed to events, the fallback, the breaker's key and the pool. */
  context?: unknown
}

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

/**
 * The life of a call that needs more than the quick path: attempts, waits and an end, driven by what happens to it. It is
 * itself the leg that runs, the breaker's pass and the entry in a list of deadlines, so that a call is one object.
 */
export class Call<T> extends Journal implements Leg, Pass {
  readonly promise: Promise<T>
  resolve!: (value: T) => void
  reject!: (error: unknown) => void
  private readonly fn: Guarded
  private readonly self: unknown
  private readonly args: unknown[] | undefined
  protected policy: RetryPolicy
  /** What it goes by instead of its guard's deadlines, and when it began, where that was changed. */
  declare private rules: Rules | undefined
  declare private begunAt: number | undefined
  protected readonly signal: AbortSignal | undefined
  private readonly breaker: CircuitBreaker | undefined
  /** Its pass through the breaker: itself, unless the breaker goes by a clock on which its own times mean nothing. */
  private readonly pass: Pass
  startedAt = 0
  epoch = 0
  leaseEnd = 0
  flight: Flight | undefined = undefined
  // What few calls need is declared and not set: it makes the others no larger.
  declare pick: Pick | undefined
  declare elsewhere: boolean | undefined
  /** Hears that the attempt is cut off. */
  declare onCut: ((reason: unknown) => void) | undefined
  /** The number of the attempt that runs, else 0. The result of any other is late and changes nothing. */
  private running = 0
  /** All the members it went to. */
  declare private picks: Pick[] | undefined
  /** Gives back its place in the bulkhead. */
  declare private free: (() => void) | undefined
  /** Functions that have not settled yet, wanted or not: while there are any, the place is taken. */
  private unsettled = 0
  private totalDue = Number.POSITIVE_INFINITY
  /** A wait, or the call's deadline where it is in no list. */
  declare private timer: unknown
  private ended = false

  constructor(
    guard: GuardCore,
    fn: Guarded,
    self: unknown,
    args: unknown[] | undefined,
    policy: RetryPolicy,
    options: CallOptions | undefined,
  ) {
    super(guard, options?.context)
    const { keyed, breaker } = guard.settings
    this.fn = fn
    this.self = self
    this.args = args
    this.policy = policy
    this.signal = options?.signal ?? undefined
    this.breaker = keyed === undefined ? breaker : keyed.forContext(this.context)
    this.pass = guard.foreign ? { epoch: 0, startedAt: 0, leaseEnd: 0 } : this
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  /** Begins with the first attempt, or by waiting for a place in the bulkhead. */
  start(): Promise<T> {
    const { signal, guard } = this
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
    return this.promise
  }

  /** Takes over a first attempt that the quick path made; {@link proceed} is to be told how it ended. */
  adopt(flight: Flight | undefined, epoch: number, startedAt: number, keptBefore: number): this {
    this.number = 1
    this.running = 1
    this.unsettled = 1
    this.flight = flight
    this.pass.epoch = epoch
    this.startedAt = startedAt
    this.keptBefore = keptBefore
    return this
  }

  /**
   * Takes the result of attempt `ended`, 0 where there is none, and begins the next. It calls the function itself and is
   * called from the promise itself: each frame on the stack costs an error made there half a microsecond.
   */
  proceed(ended: number, threw: boolean, result: unknown): void {
    const { guard, args, fn, self } = this
    if (ended > 0) {
      this.unsettled--
      if (this.running !== ended || !this.settle(threw, result)) {
        this.leave()
        return
      }
    }
    if (!this.board()) return
    const { number } = this
    let returned: unknown
    try {
      if (guard.settings.hedge !== undefined) returned = hedged(this)
      else if (args === undefined) returned = fn((this.flight = new Flight(number, this.pick?.member)))
      else returned = args.length === 1 ? fn.call(self, args[0]) : fn.apply(self, args)
    } catch (error) {
      returned = Promise.reject(error)
    }
    const promise = returned instanceof Promise ? returned : Promise.resolve(returned)
    promise.then(this.proceed.bind(this, number, false), this.proceed.bind(this, number, true))
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

  /** Asks the breaker. The error where it refuses. */
  protected admit(now: number): HoldfastError | undefined {
    const { breaker, guard, pass } = this
    const admitted =
      breaker === undefined || breaker.admits(pass, guard.lease, guard.foreign ? undefined : now)
    return admitted ? undefined : breaker.refusal()
  }

  /** Tells the breaker how an attempt ended. */
  protected judge(
    threw: boolean,
    result: unknown,
    known: Classification | undefined,
    at: number | undefined,
  ): void {
    const { breaker, pass, guard } = this
    if (breaker !== undefined)
      breaker.settle(pass, verdictOf(breaker, threw, result, known), guard.foreign ? undefined : at)
  }

  /** Tells the breaker that the attempt says nothing. */
  protected excuse(): void {
    this.breaker?.settle(this.pass, undefined)
  }

  /** Whether the breaker opened meanwhile. */
  protected halted(): boolean {
    return this.breaker?.phase === 'open'
  }

  /** A failure was classified: what follows may go by other rules. */
  protected ruled(_known: Classification | undefined): Rules | undefined {
    return undefined
  }

  /** An attempt failed and is written down. */
  protected noted(_threw: boolean, _result: unknown, _known: Classification | undefined): void {}

  /** The next attempt comes after `wait`. */
  protected waiting(_wait: number): void {}

  /** The call ended. A failed one rejects once the promise has settled. */
  protected finished(_stopped: StopReason, _result: unknown): PromiseLike<unknown> | undefined {
    return undefined
  }

  /** Makes ready for a new attempt: the breaker lets it through, and it has a member to go to. False: it was refused. */
  private board(): boolean {
    const { guard, number } = this
    const { clock, budget, pool } = guard.settings
    // One reading for all: a lease that begins before the deadline it stands for would end before it too.
    const now =
      number > 0 && this.delay === 0
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

  /** A member for another leg; undefined where there is none. */
  choose(): Pick | undefined {
    const { guard, context } = this
    this.picks ??= []
    const pick = guard.settings.pool?.take(context, this.picks, guard.lease)
    if (pick !== undefined) this.picks.push(pick)
    return pick
  }

  /** Sets the one deadline that comes first: the attempt's or the call's. */
  private watch(now: number): void {
    const { attemptDeadlines, totalDeadlines, settings } = this.guard
    const { attemptTimeout } = this.rules ?? settings
    const due = now + attemptTimeout
    if (due < this.totalDue && attemptTimeout === settings.attemptTimeout) attemptDeadlines.add(this, now)
    else if (this.number === 1) totalDeadlines.add(this, now)
    else if (this.list === undefined) {
      this.due = Math.min(due, this.totalDue)
      if (this.due < Infinity) this.timer = settings.clock.setTimer(() => this.expire(), this.due - now)
    }
  }

  /** Goes by other rules from here on; attempts and time are counted over the whole call all the same. */
  private go(rules: Rules): void {
    const { list, guard } = this
    const { totalTimeout } = guard.settings
    this.begunAt ??= totalTimeout < Infinity ? this.totalDue - totalTimeout : this.startedAt
    this.policy = rules.policy
    this.rules = rules
    this.totalDue = this.begunAt + rules.totalTimeout
    if (list === guard.totalDeadlines) list.remove(this)
  }

  /** Takes back a wait or an attempt's deadline; the call's own deadline only `atEnd`. */
  private unwatch(atEnd: boolean): void {
    const { list, guard, timer } = this
    if (list !== undefined && (atEnd || list === guard.attemptDeadlines)) list.remove(this)
    if (timer !== undefined) guard.settings.clock.clearTimer(timer)
    this.timer = undefined
  }

  /** The attempt's time is up, or the call's. */
  override expire(): void {
    const { due, number, totalDue } = this
    const { name = 'a call' } = this.guard.settings
    const { attemptTimeout, totalTimeout } = this.rules ?? this.guard.settings
    this.timer = undefined
    if (this.running === 0) this.stop('deadline')
    else {
      const error =
        due < totalDue
          ? refusal('ATTEMPT_TIMEOUT', `attempt ${number} of ${name} took over ${attemptTimeout} ms`, {})
          : refusal('TOTAL_TIMEOUT', `${name} took over ${totalTimeout} ms in all`, this.lastError())
      this.cut(error)
      if (this.settle(true, error, due)) this.proceed(0, false, undefined)
    }
  }

  /** Tells the function that nobody waits for it any more. */
  private cut(reason: unknown): void {
    this.flight?.abort(reason)
    this.onCut?.(reason)
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
    this.unwatch(false)
    this.running = 0
    this.noted(threw, result, known)
    if (guard.heard)
      this.tell('attempt_failed', number, { ...this.outcome(), duration, memberId: this.pick?.member.id })
    if (threw && at !== undefined && at >= this.totalDue) return this.stop('deadline')
    if (threw && !elsewhere && !this.wantsAgain(result, known as Classification))
      return this.stop('not_retryable')
    // A member that asks for rest gets it; the call goes to another, while there is one.
    const others = this.pick !== undefined && (this.picks?.length ?? 0) < (guard.settings.pool?.size ?? 0)
    return this.next(others && known?.kind === 'rate_limited' ? undefined : known?.retryAfter)
  }

  /** Whether the policy retries this error, leaving aside how many attempts are left. */
  wantsAgain(error: unknown, known: Classification): boolean {
    return isRetryable(this.policy, error, known, this.number)
  }

  /** Tells the pool how its member did. True where the outcome spoke of the member, so that another may do better. */
  credit(
    leg: Leg,
    threw: boolean,
    result: unknown,
    known: Classification | undefined,
    at: number | undefined,
  ): boolean {
    const { pool, clock } = this.guard.settings
    const { pick, startedAt } = leg
    if (pool === undefined || pick === undefined) return false
    if (leg.elsewhere === undefined) {
      const verdict = verdictOf(undefined, threw, result, known)
      const duration = clock.now() - startedAt
      // One that a deadline ended was in time, by whatever clock.
      const inTime = at === undefined ? undefined : Number.NEGATIVE_INFINITY
      leg.elsewhere = pool.settle(
        pick,
        { threw, result, known, verdict, duration, at: inTime },
        this.picks ?? [],
      )
    }
    return leg.elsewhere
  }

  private succeed(value: T): false {
    const { guard } = this
    this.judge(false, value, undefined, undefined)
    if (this.ended) return false // by a listener
    this.end()
    this.finished('succeeded', value)
    if (guard.heard) this.tell('succeeded', this.number, {})
    this.resolve(value)
    return false
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
      void settled().then(() => this.proceed(0, false, undefined))
      return false
    }
    this.timer = clock.setTimer(() => this.proceed(0, false, undefined), wait)
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

  /** The caller's signal was aborted. */
  abort(reason: unknown): void {
    this.leaveOff(reason, 'aborted')
  }

  /** Ends the call at once, whatever it is doing. */
  protected leaveOff(reason: unknown, stopped: StopReason): void {
    const { running } = this
    if (this.ended) return
    if (running > 0) {
      this.excuse()
      this.credit(this, true, reason, CALLED_OFF, undefined)
      this.record(this, 'failure', true, reason, undefined)
    }
    this.threw = true
    this.result = reason
    const held = this.close(stopped)
    if (held === undefined) this.reject(reason)
    else held.then(() => this.reject(reason))
    if (running > 0) this.cut(reason)
  }

  /** Ends the call with what came last. */
  private stop(stopped: StopReason): false {
    const { guard, result, threw, number: attempt, context, signal } = this
    const { fallback } = guard.settings
    if (this.ended) return false
    const held = this.close(threw ? stopped : 'unwanted_value')
    if (!threw) this.resolve(result as T)
    else if (held !== undefined) held.then(() => this.reject(result))
    else if (fallback === undefined) this.reject(result)
    else fallBack(fallback, result, { attempt, context }, signal, this)
    return false
  }

  /** Ends the call and, where it failed, writes its session down. */
  private close(stopped: StopReason): PromiseLike<unknown> | undefined {
    const { guard } = this
    this.end()
    if (this.threw) this.keep(stopped)
    if (guard.heard) this.tell('gave_up', this.number, { ...this.outcome(), stopped })
    return this.finished(stopped, this.result)
  }

  private end(): void {
    this.ended = true
    this.running = 0
    this.unwatch(true)
    if (this.signal !== undefined) unfollow(this.signal, this)
    this.leave()
  }

  /** Gives the place in the bulkhead back, once nothing of the call runs any more. */
  private leave(): void {
    if (this.free === undefined || !this.ended || this.unsettled > 0) return
    this.free()
    this.free = undefined
  }
}

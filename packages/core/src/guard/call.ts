import type { CircuitBreaker } from '../breaker/breaker.js'
import { counts } from '../breaker/counts.js'
import type { Pass } from '../breaker/permit.js'
import { refusal } from '../errors.js'
import { asksAgain, isRetryable, nextDelay, type StopReason } from '../retry/decide.js'
import type { RetryPolicy } from '../retry/options.js'
import { follow, unfollow } from './abort.js'
import { Flight } from './attempt.js'
import { Timed } from './deadlines.js'
import type { GuardEvent } from './events.js'
import { fallBack } from './fallback.js'
import type { GuardCore } from './guard.js'
import { type AttemptRecord, innerSession, keepSession, type Session, sessionsKept } from './session.js'

/** What a call may be given besides its function. */
export interface CallOptions {
  /** Ends the call at once when aborted, with the signal's reason. */
  signal?: AbortSignal | undefined
  /** Handed to events, the fallback and the breaker's key. */
  context?: unknown
}

/** A function to guard: a wrapped one with arguments of its own, or one that takes the attempt. */
// biome-ignore lint/suspicious/noExplicitAny: the types are checked where it comes in
export type Guarded = (...args: any[]) => unknown

const NOW = Promise.resolve()

type Writable<R> = { -readonly [K in keyof R]: R[K] }

/**
 * The life of a call that needs more than the quick path: attempts, waits and an end, driven by what happens to it. It
 * is its own entry in a list of deadlines and its own pass for the breaker, so that a call is one object.
 */
export class Call<T> extends Timed implements Pass {
  readonly promise: Promise<T>
  resolve!: (value: T) => void
  reject!: (error: unknown) => void
  epoch = 0
  startedAt = 0
  leaseEnd = 0
  private readonly guard: GuardCore
  private readonly fn: Guarded
  private readonly self: unknown
  private readonly args: unknown[] | undefined
  private readonly policy: RetryPolicy
  private readonly signal: AbortSignal | undefined
  private readonly context: unknown
  private readonly breaker: CircuitBreaker | undefined
  private number = 0
  /** The number of the attempt that runs, else 0. The result of any other is late and changes nothing. */
  private running = 0
  private flight: Flight | undefined = undefined
  /** How many sessions there were when the attempt began: one inside it comes later. */
  private keptBefore = 0
  /** When the last attempt ended, and how far the wall clock was ahead when the first failed. */
  private endedAt = 0
  private wallAhead: number | undefined = undefined
  private totalDue = Number.POSITIVE_INFINITY
  /** The wait before the present attempt. */
  private delay = 0
  private timer: unknown = undefined
  private ended = false
  /** Whether the last attempt threw, and what it threw or returned. */
  private threw = false
  private result: unknown = undefined
  private attempts: AttemptRecord[] | undefined = undefined
  private inner: Session[] | undefined = undefined

  constructor(
    guard: GuardCore,
    fn: Guarded,
    self: unknown,
    args: unknown[] | undefined,
    policy: RetryPolicy,
    options: CallOptions | undefined,
  ) {
    super()
    const { keyed, breaker } = guard.settings
    this.guard = guard
    this.fn = fn
    this.self = self
    this.args = args
    this.policy = policy
    this.signal = options?.signal
    this.context = options?.context
    this.breaker = keyed === undefined ? breaker : keyed.forContext(this.context)
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  /** Begins with the first attempt. */
  start(): Promise<T> {
    const { signal } = this
    if (signal?.aborted) this.abort(signal.reason)
    else {
      if (signal !== undefined) follow(signal, this)
      this.proceed(0, false, undefined)
    }
    return this.promise
  }

  /** Takes over a first attempt that the quick path made; {@link proceed} is to be told how it ended. */
  adopt(flight: Flight | undefined, epoch: number, startedAt: number): this {
    this.number = 1
    this.running = 1
    this.flight = flight
    this.epoch = epoch
    this.startedAt = startedAt
    return this
  }

  /**
   * Takes the result of attempt `number`, 0 where there is none, and begins the next. It calls the function itself and is
   * called from the promise itself: each frame on the stack costs an error made there half a microsecond.
   */
  proceed(number: number, threw: boolean, result: unknown): void {
    const { breaker, guard, args, fn, self } = this
    if (number > 0 && (this.running !== number || !this.settle(threw, result))) return
    this.timer = undefined
    if (breaker !== undefined && !breaker.admits(this, guard.lease)) {
      this.refused(breaker)
      return
    }
    const next = ++this.number
    const now = next > 1 && this.delay === 0 ? this.endedAt : guard.settings.clock.now()
    this.startedAt = now
    this.keptBefore = sessionsKept()
    this.running = next
    if (guard.timed) this.watch(now)
    let returned: unknown
    try {
      if (args === undefined) returned = fn((this.flight = new Flight(next)))
      else returned = args.length === 1 ? fn.call(self, args[0]) : fn.apply(self, args)
    } catch (error) {
      returned = Promise.reject(error)
    }
    const promise = returned instanceof Promise ? returned : Promise.resolve(returned)
    promise.then(this.proceed.bind(this, next, false), this.proceed.bind(this, next, true))
  }

  /** Sets the one deadline that comes first: the attempt's or the call's. */
  private watch(now: number): void {
    const { attemptDeadlines, totalDeadlines, settings } = this.guard
    if (this.number === 1) this.totalDue = now + settings.totalTimeout
    if (now + settings.attemptTimeout < this.totalDue) attemptDeadlines.add(this, now)
    else if (this.number === 1) totalDeadlines.add(this, now)
    else if (this.list === undefined) {
      this.due = this.totalDue
      this.timer = settings.clock.setTimer(() => this.expire(), this.totalDue - now)
    }
  }

  /** Takes back a wait or an attempt's deadline; the call's own deadline only `atEnd`. */
  private unwatch(atEnd: boolean): void {
    const { list, guard, timer } = this
    if (list !== undefined && (atEnd || list === guard.attemptDeadlines)) list.remove(this)
    if (timer !== undefined) guard.settings.clock.clearTimer(timer)
    this.timer = undefined
  }

  override expire(): void {
    const { guard, due, number, running } = this
    const { attemptTimeout, totalTimeout, name = 'a call' } = guard.settings
    if (running === 0) {
      this.stop('deadline')
      return
    }
    const error =
      due < this.totalDue
        ? refusal('ATTEMPT_TIMEOUT', `attempt ${number} of ${name} took over ${attemptTimeout} ms`, {})
        : refusal(
            'TOTAL_TIMEOUT',
            `${name} took over ${totalTimeout} ms in all`,
            this.threw ? { cause: this.result } : {},
          )
    this.flight?.abort(error)
    if (this.settle(true, error, due)) this.proceed(0, false, undefined)
  }

  /** The attempt ended, `at` a time that may be past: a deadline ends it when due. Tells whether the next is to begin. */
  private settle(threw: boolean, result: unknown, at?: number): boolean {
    const { policy, guard, breaker, number } = this
    if (this.ended) return false
    if (!threw && !(policy.retryIf !== undefined && asksAgain(policy, { value: result, attempt: number })))
      return this.succeed(result as T)
    const known = guard.classify(result, threw)
    if (!threw && policy.unwanted?.(result, known)) return this.succeed(result as T)
    if (breaker !== undefined) {
      const failed = (threw || known.httpStatus !== undefined) && counts(breaker.settings, result, known)
      breaker.settle(this, failed ? 'failure' : threw ? undefined : 'success', at)
    }
    const duration = this.record(known.kind === 'timeout' ? 'timeout' : 'failure', threw, result, known.httpStatus)
    const inner = innerSession(result, guard, this.keptBefore)
    if (inner !== undefined) this.inner = [...(this.inner ?? []), inner]
    this.threw = threw
    this.result = result
    this.running = 0
    if (guard.heard) this.tell('attempt_failed', number, { ...this.outcome(), duration })
    if (threw && at === this.totalDue) return this.stop('deadline')
    if (threw && !isRetryable(policy, result, known, number)) return this.stop('not_retryable')
    return this.next(known.retryAfter)
  }

  private succeed(value: T): false {
    const { guard, breaker } = this
    breaker?.settle(this, 'success')
    this.end()
    if (guard.heard) this.tell('succeeded', this.number, {})
    this.resolve(value)
    return false
  }

  /** Waits for the next attempt, or stops. */
  private next(retryAfter: number | undefined): boolean {
    const { guard, policy, number, totalDue, result } = this
    const { clock, random } = guard.settings
    let wait = nextDelay(policy, number, result, retryAfter, this.delay, totalDue - this.endedAt, random)
    if (typeof wait === 'number' && this.breaker?.phase === 'open') wait = 'circuit_open'
    if (typeof wait === 'string') return this.stop(wait)
    this.delay = wait
    this.unwatch(false)
    if (guard.heard)
      this.tell('retry_scheduled', number + 1, { ...this.outcome(), maxAttempts: policy.maxAttempts, delay: wait })
    if (wait === 0 || this.ended) return !this.ended // a listener may have ended it
    this.timer = clock.setTimer(() => this.proceed(0, false, undefined), wait)
    return false
  }

  /** The breaker does not let the next attempt through. */
  private refused(breaker: CircuitBreaker): void {
    if (this.number > 0) this.stop('circuit_open')
    else {
      const error = breaker.refusal()
      const timestamp = this.guard.settings.clock.wall()
      this.number = 1
      this.threw = true
      this.result = error
      this.attempts = [{ number: 1, timestamp, delay: 0, duration: 0, outcome: 'circuit_open', error }]
      // Once the caller has had the promise: a rejection that nobody handles yet costs as much again.
      NOW.then(() => this.stop('circuit_open'))
    }
  }

  /** The caller's signal was aborted. */
  abort(reason: unknown): void {
    const { flight, breaker, running } = this
    if (running > 0) {
      breaker?.settle(this, undefined)
      this.record('failure', true, reason, undefined)
    }
    this.threw = true
    this.result = reason
    this.close('aborted')
    this.reject(reason)
    if (running > 0) flight?.abort(reason)
  }

  /** Ends the call with what came last. */
  private stop(stopped: StopReason): false {
    const { guard, result, threw, number: attempt, context, signal } = this
    const { fallback } = guard.settings
    if (this.ended) return false
    this.close(threw ? stopped : 'unwanted_value')
    if (!threw) this.resolve(result as T)
    else if (fallback === undefined) this.reject(result)
    else fallBack(fallback, result, { attempt, context }, signal, this)
    return false
  }

  /** Ends the call and, where it failed, writes its session down. */
  private close(stopped: StopReason): void {
    const { guard, attempts = [], inner, threw, result } = this
    const { name } = guard.settings
    this.end()
    if (threw) {
      const session: Writable<Session> = { attempts, success: false, stopped }
      if (name !== undefined) session.operation = name
      if (inner !== undefined) session.inner = inner
      keepSession(result, session, guard)
    }
    if (guard.heard) this.tell('gave_up', this.number, { ...this.outcome(), stopped })
  }

  private end(): void {
    this.ended = true
    this.running = 0
    this.unwatch(true)
    if (this.signal !== undefined) unfollow(this.signal, this)
  }

  private outcome(): { error: unknown } | { value: unknown } {
    return this.threw ? { error: this.result } : { value: this.result }
  }

  private tell(type: GuardEvent['type'], attempt: number, facts: object): void {
    const { listeners, settings } = this.guard
    const { name, clock } = settings
    listeners.emit({ type, name, timestamp: clock.wall(), attempt, context: this.context, ...facts } as GuardEvent)
  }

  private record(
    outcome: AttemptRecord['outcome'],
    threw: boolean,
    error: unknown,
    statusCode: number | undefined,
  ): number {
    const { flight, number, delay, guard, startedAt } = this
    const { clock } = guard.settings
    this.endedAt = clock.now()
    this.wallAhead ??= clock.wall() - this.endedAt
    const duration = this.endedAt - startedAt
    const timestamp = Math.round(startedAt + this.wallAhead)
    const record: Writable<AttemptRecord> = { number, timestamp, delay, duration, outcome }
    if (threw) record.error = error
    if (statusCode !== undefined) record.statusCode = statusCode
    if (flight?.context !== undefined) record.context = flight.context
    this.attempts ??= []
    this.attempts.push(record)
    return duration
  }
}

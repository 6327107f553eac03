import type { BreakerEvent, CircuitBreaker } from '../breaker/breaker.js'
import { type Classification, classify } from '../classify/index.js'
import { startStamp } from '../clock.js'
import { Listeners } from '../listeners.js'
import { report } from '../report.js'
import { type Attempt, Flight } from './attempt.js'
import { Call, type Guarded } from './call.js'
import { Deadlines } from './deadlines.js'
import type { GuardEvent } from './events.js'
import { FirstTry } from './first-try.js'
import type { Guard, RunOptions } from './guard.js'
import type { GuardSettings } from './options.js'
import { readRunOptions } from './run-options.js'
import { sessionsKept } from './session.js'

/** The arguments of calls without any. */
const NONE: unknown[] = []

/** A {@link Guard} as the engine sees it. */
export class GuardCore implements Guard {
  readonly settings: GuardSettings
  readonly breaker: CircuitBreaker | undefined
  readonly attemptDeadlines: Deadlines
  readonly totalDeadlines: Deadlines
  /** Where a first attempt waits. */
  readonly firstDeadlines: Deadlines
  /** Whether it has any deadline. */
  readonly timed: boolean
  /** Whether nothing is decided by when a call begins, so that it need not be known to the microsecond. */
  timeless: boolean
  /** How long a test of its breaker may hold its place. */
  readonly lease: number | undefined
  /** Whether its breaker goes by another clock. */
  readonly foreign: boolean
  readonly listeners = new Listeners<GuardEvent>('a guard')
  /** Whether anybody listens. */
  heard = false
  /**
   * Whether a call may take the quick path: one attempt with nothing to watch, which costs a promise and a few words of
   * memory. Everything else, and what becomes of its failure, is a {@link Call}.
   */
  private quick: boolean
  /** Whether a call begins as a {@link FirstTry}: there is a deadline to watch and nothing else. */
  private watched: boolean
  private readonly simple: boolean
  /** Whether a success changes nothing while the breaker is closed. */
  readonly passive: boolean
  private readonly wall: () => number
  private unhear: (() => void) | undefined = undefined

  constructor(settings: GuardSettings) {
    const {
      clock,
      attemptTimeout,
      totalTimeout,
      retry,
      breaker,
      keyed,
      enabled,
      bulkhead,
      budget,
      pool,
      hedge,
    } = settings
    const { windowType = 'rolling', adaptive = false, slowCallDuration } = breaker?.settings ?? {}
    this.settings = settings
    this.breaker = breaker
    this.wall = () => clock.wall()
    this.attemptDeadlines = new Deadlines(clock, attemptTimeout)
    this.totalDeadlines = new Deadlines(clock, totalTimeout)
    this.firstDeadlines = attemptTimeout < totalTimeout ? this.attemptDeadlines : this.totalDeadlines
    this.timed = attemptTimeout < Infinity || totalTimeout < Infinity
    this.timeless = !(this.timed || breaker || keyed || pool || hedge)
    this.lease = attemptTimeout < Infinity ? attemptTimeout : undefined
    this.foreign = breaker !== undefined && breaker.settings.clock !== clock
    this.passive = windowType === 'rolling' && !adaptive
    this.simple =
      enabled && !(keyed ?? retry.retryIf ?? slowCallDuration ?? bulkhead ?? budget ?? pool ?? hedge)
    this.quick = this.simple && !this.timed
    this.watched = this.simple && this.timed
  }

  get name(): string | undefined {
    return this.settings.name
  }

  get breakers(): ReadonlyMap<string, CircuitBreaker> | undefined {
    return this.settings.keyed?.map
  }

  run<T>(fn: (attempt: Attempt) => T | PromiseLike<T>, options?: RunOptions): Promise<T> {
    const { breaker } = this
    if (!this.quick || options !== undefined || (breaker !== undefined && breaker.phase !== 'closed'))
      return this.begin(fn, undefined, undefined, options)
    const epoch = breaker === undefined ? 0 : breaker.epoch
    const startedAt = startStamp(this.settings.clock)
    const kept = sessionsKept()
    const flight = new Flight(1, undefined)
    let result: T | PromiseLike<T>
    try {
      result = fn(flight)
    } catch (error) {
      result = Promise.reject(error)
    }
    return (result instanceof Promise ? result : Promise.resolve(result)).then<T, T>(
      this.passive ? undefined : this.counting(epoch),
      (error) => {
        const call = new Call<T>(this, fn, undefined, undefined, this.settings.retry, undefined)
        const { promise } = call.adopt(flight, epoch, startedAt, kept)
        // The function is called from here: each frame more costs an error that it makes up to a microsecond.
        if (call.advance(1, true, error))
          try {
            call.expect(fn(call.depart()))
          } catch (thrown) {
            call.expect(Promise.reject(thrown))
          }
        return promise
      },
    )
  }

  wrap<This, Args extends unknown[], R>(
    fn: (this: This, ...args: Args) => R,
  ): (this: This, ...args: Args) => Promise<Awaited<R>> {
    // oxlint-disable-next-line no-this-alias -- the function below has a `this` of its own
    const core = this
    const { breaker, passive, settings } = core
    const { clock, retry } = settings
    const guarded = fn as Guarded
    // Up to three arguments are passed on one by one: an array of them would cost a tenth of the call.
    function wrapped(this: unknown, a: unknown, b: unknown, c: unknown): Promise<Awaited<R>> {
      const given = arguments
      const { length } = given
      if (!core.quick || length > 3 || (breaker !== undefined && breaker.phase !== 'closed'))
        return core.begin(
          guarded,
          this,
          length === 0 ? NONE : length === 1 ? [a] : Array.prototype.slice.call(given),
          undefined,
        )
      const epoch = breaker === undefined ? 0 : breaker.epoch
      const startedAt = startStamp(clock)
      const kept = sessionsKept()
      let result: unknown
      try {
        if (length === 1) result = guarded.call(this, a)
        else if (length === 0) result = guarded.call(this)
        else result = length === 2 ? guarded.call(this, a, b) : guarded.call(this, a, b, c)
      } catch (error) {
        result = Promise.reject(error)
      }
      return (result instanceof Promise ? result : Promise.resolve(result)).then(
        passive ? undefined : core.counting(epoch),
        (error) => {
          const args = length === 0 ? NONE : length === 1 ? [a] : [a, b, c].slice(0, length)
          const call = new Call<Awaited<R>>(core, guarded, this, args, retry, undefined)
          const { promise } = call.adopt(undefined, epoch, startedAt, kept)
          if (call.advance(1, true, error))
            try {
              call.expect(guarded.apply(this, args))
            } catch (thrown) {
              call.expect(Promise.reject(thrown))
            }
          return promise
        },
      )
    }
    return wrapped as (this: unknown, ...args: unknown[]) => Promise<Awaited<R>>
  }

  on(listener: (event: GuardEvent) => void): () => void {
    const off = this.listeners.add(listener)
    this.listen()
    return () => {
      off()
      this.listen()
    }
  }

  /** What the guard takes an error for, or a value that is not wanted. */
  classify(result: unknown, threw: boolean): Classification {
    const { classify: ask } = this.settings
    const known = classify(result, this.wall)
    if (ask === undefined || !threw) return known
    try {
      const told = ask(result)
      const { category = known.category, kind = known.kind } = told ?? {}
      return { ...known, ...told, category, kind }
    } catch (thrown) {
      report('classify', ask, thrown)
      return known
    }
  }

  /** Counts a success of the quick path, where the breaker wants to know. */
  private counting(epoch: number): <T>(value: T) => T {
    return (value) => {
      this.count(epoch)
      return value
    }
  }

  /** Counts a success of a call that the breaker let through in that epoch. */
  count(epoch: number): void {
    if (this.breaker?.epoch === epoch) this.breaker.result(false, false)
  }

  /** A call that needs watching from the start. */
  private begin<T>(
    fn: Guarded,
    self: unknown,
    args: unknown[] | undefined,
    options: RunOptions | undefined,
  ): Promise<T> {
    const { breaker, watched } = this
    const { enabled, retry } = this.settings
    if (watched && options === undefined && (breaker === undefined || breaker.phase === 'closed'))
      return new FirstTry<T>(this, fn, self, args).start()
    try {
      const policy = options === undefined ? retry : readRunOptions(options, retry)
      if (!enabled) return Promise.resolve((args ? fn.apply(self, args) : fn(new Flight(1, undefined))) as T)
      return new Call<T>(this, fn, self, args, policy, options).start()
    } catch (error) {
      return Promise.reject(error)
    }
  }

  private listen(): void {
    const { breaker, listeners, settings } = this
    const { keyed } = settings
    this.heard = listeners.size > 0
    this.quick = this.simple && !this.timed && !this.heard
    this.watched = this.simple && this.timed && !this.heard
    const hear = this.heard
      ? (event: BreakerEvent) => listeners.emit({ type: 'breaker_changed', ...event })
      : undefined
    if (keyed !== undefined) keyed.listener = hear
    this.unhear?.()
    this.unhear = hear && breaker?.on(hear)
  }
}

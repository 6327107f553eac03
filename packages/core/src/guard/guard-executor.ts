import { type Attempt, AttemptContext } from '../attempt/attempt.js'
import type { BreakerEvent, CircuitBreaker } from '../breaker/breaker.js'
import { type Classification, classify } from '../classify/index.js'
import { approximateStartTime } from '../clock.js'
import { createDeferred } from '../deferred.js'
import { type Admission, BreakerAdmission } from '../execution/admission.js'
import { type CallOptions, copyCallOptions, type Executed, type GuardedFunction } from '../execution/call.js'
import { executeDirectly } from '../execution/direct-call.js'
import { Execution } from '../execution/execution.js'
import type { Executor } from '../execution/executor.js'
import { FirstAttempt, type FirstAttemptTracker } from '../execution/first-attempt.js'
import { makeInspectable } from '../inspect.js'
import { Listeners } from '../listeners.js'
import { reportOnce } from '../report.js'
import { throwUnwrapped } from '../retry/decide.js'
import { sessionSequence } from '../session/session.js'
import { DeadlineQueue } from '../timeout/deadline-queue.js'
import type { GuardEvent } from './events.js'
import type { Guard, RunOptions } from './guard.js'
import { createHotShapes } from './hot-shapes.js'
import { type GuardSettings, parseGuardOptions } from './options.js'
import { parseRunOptions } from './run-options.js'

/** The argument count of a function that gets the attempt instead of arguments. */
const TAKES_ATTEMPT = -1

/** The arguments of a wrapped function that was called without any. */
const NO_ARGS: unknown[] = []

/** Adapts a guard for a layer above it, such as the runtime. */
export interface ExecutorOptions {
  /** Refines the classification of errors. */
  readonly refine?: ((error: unknown, known: Classification) => Classification) | undefined
  /** Whether executions have breakers that the guard's settings do not include. */
  readonly hasOtherBreakers?: boolean | undefined
}

/** The objects of {@link createHotShapes}, created with the first guard and never released. */
let hotShapes: readonly object[] | undefined

/** The implementation of {@link Guard}: starts first attempts, and executions for calls that need more. */
export class GuardExecutor implements Omit<Guard, 'wrap'>, Executor {
  readonly settings: GuardSettings
  readonly breaker: CircuitBreaker | undefined
  readonly attemptDeadlines: DeadlineQueue
  readonly totalDeadlines: DeadlineQueue
  /** The queue of first attempts. */
  readonly firstDeadlines: DeadlineQueue
  readonly hasDeadline: boolean
  /** Whether calls that start shortly after each other can share one reading of the clock. */
  readonly canShareStartTime: boolean
  readonly listeners = new Listeners<GuardEvent>('a guard')
  hasListeners = false
  /**
   * Whether a call can start with its first attempt alone, because nothing must be acquired or reported: no pool, bulkhead,
   * budget or listener. All other calls, and all failures, need an {@link Execution}. A disabled guard uses only this path.
   */
  useFastPath: boolean
  /** The breaker that must be closed for the fast path. */
  private readonly fastPathBreaker: CircuitBreaker | undefined
  private readonly isPlainRetry: boolean
  /** Whether a success changes nothing while the breaker is closed. */
  private readonly ignoresSuccess: boolean
  private readonly breakerHasOwnClock: boolean
  private readonly refine: ExecutorOptions['refine']
  private readonly wall: () => number
  private stopBreakerEvents: (() => void) | undefined = undefined

  constructor(settings: GuardSettings, { refine, hasOtherBreakers = false }: ExecutorOptions = {}) {
    const {
      clock,
      attemptTimeout,
      totalTimeout,
      retry,
      breaker,
      keyed,
      bulkhead,
      budget,
      pool,
      hedge,
      enabled,
    } = settings
    const { windowType = 'rolling', adaptive = false, slowCallDuration } = breaker?.settings ?? {}
    makeInspectable(this, 'Guard', guardFacts)
    this.settings = settings
    this.breaker = breaker
    this.refine = refine
    this.wall = () => clock.wall()
    this.attemptDeadlines = new DeadlineQueue(clock, attemptTimeout)
    this.totalDeadlines = new DeadlineQueue(clock, totalTimeout)
    this.firstDeadlines = attemptTimeout < totalTimeout ? this.attemptDeadlines : this.totalDeadlines
    this.hasDeadline = enabled && (attemptTimeout < Infinity || totalTimeout < Infinity)
    this.canShareStartTime = !(this.hasDeadline || breaker || keyed || pool || hedge || hasOtherBreakers)
    this.breakerHasOwnClock = breaker !== undefined && breaker.settings.clock !== clock
    this.ignoresSuccess = breaker === undefined || (windowType === 'rolling' && !adaptive)
    this.isPlainRetry = !(keyed ?? retry.retryIf ?? slowCallDuration ?? bulkhead ?? budget ?? pool ?? hedge)
    this.useFastPath = this.isPlainRetry || !enabled
    this.fastPathBreaker = enabled ? breaker : undefined
    if (hotShapes === undefined) {
      hotShapes = [] // set first, because the guard that is created here runs this constructor again
      hotShapes = createHotShapes(new GuardExecutor(parseGuardOptions({ breaker: {} })))
    }
  }

  get name(): string | undefined {
    return this.settings.name
  }

  get breakers(): ReadonlyMap<string, CircuitBreaker> | undefined {
    return this.settings.keyed?.breakers
  }

  run<T>(fn: (attempt: Attempt) => T | PromiseLike<T>, options?: RunOptions): Promise<T> {
    return options === undefined
      ? this.start(fn, undefined, TAKES_ATTEMPT, undefined, undefined, undefined)
      : this.startExecution(fn, undefined, undefined, options)
  }

  execute<T>(fn: (attempt: Attempt) => T | PromiseLike<T>, options?: RunOptions): Promise<Executed<T>> {
    try {
      const execution = this.createExecution<T>(fn, undefined, undefined, options)
      return execution === undefined
        ? executeDirectly(this, () =>
            this.start<T>(fn, undefined, TAKES_ATTEMPT, undefined, undefined, undefined),
          )
        : execution.startWithSession()
    } catch (error) {
      return Promise.reject(error)
    }
  }

  wrap<This, Args extends unknown[], R>(
    fn: (this: This, ...args: Args) => R,
  ): (this: This, ...args: Args) => Promise<Awaited<R>> {
    // oxlint-disable-next-line no-this-alias -- the function below has a `this` of its own
    const executor = this
    // Up to three arguments are passed one by one, because an array of them would take a tenth of the call's time.
    function wrapped(this: unknown, a: unknown, b: unknown, c: unknown): Promise<Awaited<R>> {
      const { length } = arguments
      return length <= 3
        ? executor.start(fn as GuardedFunction, this, length, a, b, c)
        : executor.startWithMany(fn as GuardedFunction, this, Array.prototype.slice.call(arguments))
    }
    return wrapped as (this: unknown, ...args: unknown[]) => Promise<Awaited<R>>
  }

  /**
   * Starts a call: with a first attempt alone where the fast path allows it, else as an execution. `argCount` is the number of
   * arguments among `a`, `b` and `c`. The function is small enough for V8 to compile it into its callers.
   */
  private start<T>(
    fn: GuardedFunction,
    self: unknown,
    argCount: number,
    a: unknown,
    b: unknown,
    c: unknown,
  ): Promise<T> {
    const { fastPathBreaker: breaker } = this
    if (!this.useFastPath || (breaker !== undefined && breaker.currentState !== 'closed'))
      return this.startExecution(fn, self, argumentsOf(argCount, a, b, c), undefined)
    const epoch = breaker === undefined ? 0 : breaker.epoch
    const context = argCount === TAKES_ATTEMPT ? new AttemptContext(1, undefined) : undefined
    if (this.hasDeadline) {
      const args = argumentsOf(argCount, a, b, c)
      const first = new FirstAttempt<T>(this, fn, self, args, context, epoch, undefined)
      const promise = first.start()
      first.awaitResult(callFunction(fn, self, argCount, a, b, c, context))
      return promise
    }
    const startedAt = approximateStartTime(this.settings.clock)
    const sequence = sessionSequence()
    const result = callFunction<T>(fn, self, argCount, a, b, c, context)
    if (!this.settings.enabled) return result.catch(throwUnwrapped)
    return result.then<T, T>(this.ignoresSuccess ? undefined : this.countSuccess(epoch), (error) => {
      const args = argumentsOf(argCount, a, b, c)
      const execution = new Execution<T>(this, fn, self, args, this.settings.retry, undefined)
      const promise = createDeferred(execution)
      execution.resumeFirstAttempt(context, epoch, startedAt, sequence)
      // The function is called from here, because each stack frame adds up to a microsecond to an error that it creates.
      if (execution.prepareNextAttempt(1, true, error))
        try {
          execution.awaitResult(
            args === undefined ? fn(execution.createAttemptContext()) : fn.apply(self, args),
          )
        } catch (thrown) {
          execution.awaitResult(Promise.reject(thrown))
        }
      return promise
    })
  }

  /** Starts a call with any number of arguments. A closure in `wrapped` would cost every call of the wrapped function. */
  private startWithMany<T>(fn: GuardedFunction, self: unknown, args: unknown[]): Promise<T> {
    return this.start(() => fn.apply(self, args), undefined, 0, undefined, undefined, undefined)
  }

  /** Starts a call whose first attempt is tracked. Only where the fast path is used. */
  startTracked<T>(fn: GuardedFunction, tracker: FirstAttemptTracker): Promise<T> {
    const context = new AttemptContext(1, tracker.member)
    const epoch = this.fastPathBreaker?.epoch ?? 0
    const first = new FirstAttempt<T>(this, fn, undefined, undefined, context, epoch, tracker)
    const promise = first.start()
    first.awaitResult(callFunction(fn, undefined, TAKES_ATTEMPT, undefined, undefined, undefined, context))
    return promise
  }

  on(listener: (event: GuardEvent) => void): () => void {
    const off = this.listeners.add(listener)
    this.onListenersChanged()
    return () => {
      off()
      this.onListenersChanged()
    }
  }

  /** Classifies an error, or a value that is treated as a failure. */
  classify(result: unknown, hasThrown: boolean): Classification {
    const { settings, refine } = this
    const classification = classify(result, this.wall)
    if (!hasThrown) return classification
    const classified =
      settings.classify === undefined
        ? classification
        : mergeClassification(classification, settings.classify, result)
    return refine === undefined ? classified : refine(result, classified)
  }

  /** Records a success of a first attempt that the breaker admitted in that epoch. */
  recordSuccess(epoch: number): void {
    if (!this.ignoresSuccess && this.breaker?.epoch === epoch) this.breaker.recordResult(false, false)
  }

  createAdmission(options: CallOptions | undefined, lease: number | undefined): Admission | undefined {
    const { keyed, breaker } = this.settings
    const own = keyed === undefined ? breaker : keyed.forContext(options?.context)
    return own && new BreakerAdmission(own, lease, this.breakerHasOwnClock)
  }

  private countSuccess(epoch: number): <T>(value: T) => T {
    return (value) => {
      this.recordSuccess(epoch)
      return value
    }
  }

  private startExecution<T>(
    fn: GuardedFunction,
    self: unknown,
    args: unknown[] | undefined,
    options: RunOptions | undefined,
  ): Promise<T> {
    try {
      const execution = this.createExecution<T>(fn, self, args, options)
      return execution === undefined
        ? this.start(fn, self, TAKES_ATTEMPT, undefined, undefined, undefined)
        : execution.start()
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Creates the execution of a call; undefined where the guard is disabled. @throws INVALID_OPTIONS */
  private createExecution<T>(
    fn: GuardedFunction,
    self: unknown,
    args: unknown[] | undefined,
    options: RunOptions | undefined,
  ): Execution<T> | undefined {
    const { retry, enabled } = this.settings
    const call = options === undefined ? undefined : parseRunOptions(options, this.settings)
    if (!enabled) return undefined
    const callOptions = copyCallOptions(options)
    return new Execution(this, fn, self, args, call?.policy ?? retry, callOptions, undefined, call?.timeouts)
  }

  private onListenersChanged(): void {
    const { breaker, listeners, settings } = this
    const { keyed } = settings
    this.hasListeners = listeners.size > 0
    this.useFastPath = !settings.enabled || (this.isPlainRetry && !this.hasListeners)
    const onBreakerEvent = this.hasListeners
      ? (event: BreakerEvent) => listeners.emit({ type: 'breaker_changed', ...event })
      : undefined
    if (keyed !== undefined) keyed.listener = onBreakerEvent
    this.stopBreakerEvents?.()
    this.stopBreakerEvents = onBreakerEvent && breaker?.on(onBreakerEvent)
  }
}

const guardFacts = ({ name, breaker, breakers }: GuardExecutor) => ({
  name,
  ...(breaker && { breaker }),
  ...(breakers && { breakers: breakers.size }),
})

/** Calls the function for a first attempt. A function that throws counts as one that returned a rejected promise. */
function callFunction<T>(
  fn: GuardedFunction,
  self: unknown,
  argCount: number,
  a: unknown,
  b: unknown,
  c: unknown,
  context: AttemptContext | undefined,
): Promise<T> {
  let returned: unknown
  try {
    if (argCount === TAKES_ATTEMPT) returned = fn(context)
    else if (argCount === 1) returned = fn.call(self, a)
    else if (argCount === 0) returned = fn.call(self)
    else returned = argCount === 2 ? fn.call(self, a, b) : fn.call(self, a, b, c)
  } catch (error) {
    returned = Promise.reject(error)
  }
  return (returned instanceof Promise ? returned : Promise.resolve(returned)) as Promise<T>
}

const argumentsOf = (count: number, a: unknown, b: unknown, c: unknown): unknown[] | undefined =>
  count === TAKES_ATTEMPT ? undefined : count === 0 ? NO_ARGS : count === 1 ? [a] : [a, b, c].slice(0, count)

/** Merges the classification with the result of the user's `classify`. A function that throws is reported once. */
function mergeClassification(
  classification: Classification,
  userClassify: NonNullable<GuardSettings['classify']>,
  error: unknown,
): Classification {
  try {
    const own = userClassify(error)
    const { category = classification.category, kind = classification.kind } = own ?? {}
    return { ...classification, ...own, category, kind }
  } catch (thrown) {
    reportOnce('classify', userClassify, thrown)
    return classification
  }
}

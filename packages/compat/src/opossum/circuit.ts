import { EventEmitter } from 'node:events'
import { guard } from 'holdfast'
import { isInstanceOfAnyCopy } from 'holdfast/internal'
import { ManualBreaker } from '../manual-breaker.js'
import { clearTimer, startInterval, startTimer, wallTime } from '../platform.js'
import type { CacheTransport } from './cache.js'
import { createCircuitError, isCircuitError } from './errors.js'
import { type CircuitEvents, COUNT_OF_EVENT } from './events.js'
import {
  type CoalesceReset,
  type CompleteOptions,
  completeOptions,
  type Options,
  type State,
} from './options.js'
import { createSemaphore, type Semaphore } from './semaphore.js'
import { type Bucket, type Stats, Status, type StatusOptions } from './status.js'

/** The type of a method, because circuits with different arguments are assignable to each other. */
type Action<TI extends unknown[], TR> = { call(...args: TI): TR | PromiseLike<TR> }['call']

// oxlint-disable-next-line typescript/no-explicit-any -- the declaration of opossum
type Fallback = (...args: any[]) => any

const MAX_FAILURES_DEPRECATED =
  'options.maxFailures is deprecated. Please use options.errorThresholdPercentage'

/** The deadline of a call comes from the engine. Retries and the breaker are not part of it. */
const engine = guard({ retry: false, breaker: false })

/** The circuit breaker of opossum: calls its action unless too many calls have failed. */
export class CircuitBreaker<TI extends unknown[] = unknown[], TR = unknown> extends EventEmitter {
  options: CompleteOptions
  semaphore: Semaphore
  action: Action<TI, TR>
  readonly name: string
  readonly group: string
  readonly volumeThreshold: number
  readonly status: Status
  private readonly circuitState = new ManualBreaker()
  private isEnabled = true
  private isWarmingUp: boolean
  private isStopped = false
  private fallbackFunction: Fallback | undefined
  private lastTimerAt = wallTime()
  private resetTimer: unknown
  private warmUpTimer: unknown

  /** Makes `instanceof` true for circuits of another copy of the package, such as its CommonJS form. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return isInstanceOfAnyCopy(this, 'circuitVersion', value)
  }

  /** @internal The version of the members, which can be that of another copy of this package. */
  get circuitVersion(): number {
    return 1
  }

  /** Whether a circuit created the error; false for the errors of actions. */
  static isOurError(error: Error): boolean {
    return isCircuitError(error)
  }

  /** Creates statistics for the option `status`. */
  static newStatus(options: StatusOptions): Status {
    return new Status(options)
  }

  constructor(action: (...args: TI) => TR | PromiseLike<TR>, options: Options<TI> = {}) {
    super()
    this.options = completeOptions(options)
    this.semaphore = createSemaphore(this.options.capacity)
    if (!action)
      throw new TypeError(
        'No action provided. Cannot construct a CircuitBreaker without an invocable action.',
      )
    if (options.autoRenewAbortController) options.abortController ??= new AbortController()
    if (options.abortController && typeof options.abortController.abort !== 'function')
      throw new TypeError('AbortController does not contain `abort()` method')

    this.volumeThreshold = Number.isInteger(options.volumeThreshold) ? (options.volumeThreshold as number) : 0
    this.isWarmingUp = options.allowWarmUp === true || Boolean(options.state?.warmUp)
    this.status = createStatus(this.options)
    this.isEnabled = (options.state ?? options).enabled !== false
    this.name = options.name || action.name || crypto.randomUUID()
    this.group = options.group || this.name
    if (this.isWarmingUp)
      this.warmUpTimer = startTimer(
        () => {
          this.isWarmingUp = false
        },
        this.options.rollingCountTimeout,
        true,
      )
    this.action = typeof action === 'function' ? action : () => Promise.resolve(action)
    if (options.maxFailures) console.error(MAX_FAILURES_DEPRECATED)
    this.listenToItself()
    if (options.state) this.restore(options.state)
  }

  /** Opossum counts and changes its state in listeners, so that `removeAllListeners` stops both. */
  private listenToItself(): void {
    for (const [event, count] of Object.entries(COUNT_OF_EVENT))
      super.on(event, (_: unknown, latency?: number) => this.status.increment(count, latency))
    this.on('open', () => this.status.open())
    this.on('close', () => this.status.close())
    this.on('open', () => {
      this.resetTimer = startTimer(() => this.becomeHalfOpen(), this.options.resetTimeout, true)
    })
    this.on('success', () => {
      if (this.halfOpen) this.close()
    })
  }

  private restore({ shutdown, closed, halfOpen, lastTimerAt }: Partial<State>): void {
    if (shutdown) this.shutdown()
    else if (closed !== false) return
    else if (halfOpen) this.circuitState.halfOpen()
    else if (lastTimerAt !== undefined && wallTime() - lastTimerAt > this.options.resetTimeout)
      this.becomeHalfOpen()
    else this.open()
  }

  private becomeHalfOpen(): void {
    this.circuitState.halfOpen()
    this.renewAbortController()
    this.emit('halfOpen', this.options.resetTimeout)
  }

  private renewAbortController(): void {
    const { options } = this
    if (options.autoRenewAbortController && options.abortController?.signal.aborted)
      options.abortController = new AbortController()
  }

  /** Subscribes to an event. */
  override on<E extends keyof CircuitEvents<TI, TR>>(
    event: E,
    listener: (...args: CircuitEvents<TI, TR>[E]) => void,
  ): this {
    return super.on(event, listener as (...args: unknown[]) => void)
  }

  /** Closes the circuit. */
  close(): void {
    if (this.closed || this.isStopped) return
    clearTimer(this.resetTimer)
    this.circuitState.close()
    this.renewAbortController()
    this.emit('close')
  }

  /** Opens the circuit: calls are rejected, or answered by the fallback, until `resetTimeout` has passed. */
  open(): void {
    if (this.opened || this.isStopped) return
    this.circuitState.open()
    this.lastTimerAt = wallTime()
    this.emit('open')
  }

  /** Stops the circuit for good: all further calls are rejected. */
  shutdown(): void {
    this.emit('shutdown')
    this.disable()
    this.removeAllListeners()
    clearTimer(this.resetTimer)
    clearTimer(this.warmUpTimer)
    this.status.shutdown()
    this.isStopped = true
    this.clearCache()
  }

  get isShutdown(): boolean {
    return this.isStopped
  }

  /** Whether the next call is the one that a half-open circuit admits. */
  get pendingClose(): boolean {
    return this.circuitState.canProbe
  }

  get closed(): boolean {
    return !this.isStopped && this.circuitState.isClosed
  }

  get opened(): boolean {
    return !this.isStopped && this.circuitState.isOpen
  }

  get halfOpen(): boolean {
    return !this.isStopped && this.circuitState.isHalfOpen
  }

  /** The statistics of the current window. */
  get stats(): Stats {
    return this.status.stats
  }

  get enabled(): boolean {
    return this.isEnabled
  }

  get warmUp(): boolean {
    return this.isWarmingUp
  }

  /** The state and the statistics, for the options `state` and `status`. */
  toJSON(): { state: State; status: Stats } {
    return {
      state: {
        name: this.name,
        enabled: this.enabled,
        closed: this.closed,
        open: this.opened,
        halfOpen: this.halfOpen,
        warmUp: this.warmUp,
        shutdown: this.isShutdown,
        lastTimerAt: this.lastTimerAt,
      },
      status: this.status.stats,
    }
  }

  /** Sets the function, or the circuit, whose result replaces an error. It gets the arguments and the error. */
  fallback(func: Fallback | CircuitBreaker): this {
    this.fallbackFunction = isCircuit(func) ? (...args: unknown[]) => func.fire(...args) : func
    return this
  }

  /** Calls the action with these arguments. */
  fire(...args: TI): Promise<TR> {
    return this.call(this.action, ...args)
  }

  /** Calls the action with `context` as `this`. */
  call(context: unknown, ...args: TI): Promise<TR> {
    if (this.isStopped)
      return Promise.reject(createCircuitError('The circuit has been shutdown.', 'ESHUTDOWN'))
    this.emit('fire', args)
    if (!this.isEnabled) return toPromise(this.action.apply(context, args))

    const { options } = this
    const key = options.cache || options.coalesce ? options.cacheGetKey.apply(this, args) : ''
    if (options.cache) {
      const cached = options.cacheTransport?.get(key)
      this.emit(cached ? 'cacheHit' : 'cacheMiss')
      if (cached) return cached as Promise<TR>
    }
    if (options.coalesce) {
      const running = options.coalesceCache?.get(key)
      this.emit(running ? 'coalesceCacheHit' : 'coalesceCacheMiss')
      if (running) return running as Promise<TR>
    }
    if (!this.circuitState.admit()) {
      const error = createCircuitError('Breaker is open', 'EOPENBREAKER')
      this.emit('reject', error)
      return this.runFallback(error, args) ?? Promise.reject(error)
    }

    const call = this.run(context, args, key)
    options.coalesceCache?.set(key, call, expiry(options.coalesceTTL))
    return call
  }

  /** Runs the action under the limits of capacity and time. */
  private run(context: unknown, args: TI, key: string): Promise<TR> {
    const startedAt = wallTime()
    const latency = () => wallTime() - startedAt
    const { options } = this
    return new Promise((resolve, reject) => {
      const fail = (error: Error) => this.handleError(error, args, latency(), resolve, reject)
      if (!this.semaphore.test()) {
        const error = createCircuitError('Semaphore locked', 'ESEMLOCKED')
        this.emit('semaphoreLocked', error, latency())
        fail(error)
        this.resetCoalesce(key)
        return
      }

      let action: PromiseLike<TR> | undefined
      let isSettled = false
      const { timeout } = options
      engine
        .run(
          async () => {
            try {
              action = toPromise(this.action.apply(context, args))
              return await action
            } finally {
              isSettled = true
            }
          },
          { timeout: timeout ? { attempt: Math.max(1, timeout) } : false },
        )
        .then((result) => {
          this.emit('success', result, latency())
          this.resetCoalesce(key, 'success')
          this.semaphore.release()
          resolve(result)
          if (options.cache) options.cacheTransport?.set(key, action, expiry(options.cacheTTL))
        })
        .catch((error: Error) => {
          this.semaphore.release()
          if (isSettled) {
            fail(error)
            this.resetCoalesce(key, 'error')
            return
          }
          const timeoutError = createCircuitError(`Timed out after ${timeout}ms`, 'ETIMEDOUT')
          this.emit('timeout', timeoutError, latency(), args)
          fail(timeoutError)
          this.resetCoalesce(key, 'timeout')
          options.abortController?.abort()
        })
        .catch(reject) // the option errorFilter or a listener threw
    })
  }

  private handleError(
    error: Error,
    args: TI,
    latency: number,
    resolve: (value: PromiseLike<TR>) => void,
    reject: (error: Error) => void,
  ): void {
    if (this.options.errorFilter(error, ...args)) {
      // A filtered error counts as a success; opossum passes it to the listeners in place of a result.
      this.emit('success', error, latency)
      reject(error)
      return
    }
    this.emit('failure', error, latency, args)
    this.openIfFailing()
    const fallback = this.runFallback(error, args)
    if (fallback) resolve(fallback)
    else reject(error)
  }

  private openIfFailing(): void {
    if (this.warmUp) return
    const { fires, failures } = this.stats
    if (fires < this.volumeThreshold && !this.halfOpen) return
    if (this.halfOpen || (failures / fires) * 100 > this.options.errorThresholdPercentage) this.open()
  }

  private runFallback(error: Error, args: TI): Promise<TR> | undefined {
    const { fallbackFunction } = this
    if (!fallbackFunction) return undefined
    try {
      const result = fallbackFunction.apply(fallbackFunction, [...args, error])
      this.emit('fallback', result, error)
      return Promise.resolve(result as TR)
    } catch (thrown) {
      return Promise.reject(thrown)
    }
  }

  private resetCoalesce(key: string, event?: CoalesceReset): void {
    if (event === undefined || this.options.coalesceResetOn.includes(event))
      this.options.coalesceCache?.delete(key)
  }

  /** Clears the cached results and the shared calls. */
  clearCache(): void {
    if (this.options.cache) this.options.cacheTransport?.flush()
    this.options.coalesceCache?.flush()
  }

  /**
   * Calls `func` now and periodically, with the circuit as `this`. The circuit opens when its promise rejects.
   *
   * @param interval - milliseconds between two calls, 5000 by default
   */
  healthCheck(func: () => Promise<unknown>, interval?: number): void {
    const ms = interval || 5000
    if (typeof func !== 'function') throw new TypeError('Health check function must be a function')
    if (Number.isNaN(Number(ms))) throw new TypeError('Health check interval must be a number')
    const check = () => {
      func.apply(this).catch((error: Error) => {
        this.emit('healthCheckFailed', error)
        this.open()
      })
    }
    startInterval(check, ms)
    check()
  }

  /** Enables the circuit. */
  enable(): void {
    this.isEnabled = true
    this.status.startListeneningForRotateEvent()
  }

  /** Disables the circuit: calls run without limits and without the fallback. */
  disable(): void {
    this.isEnabled = false
    this.status.removeRotateBucketControllerListener()
  }

  /** The signal of the option `abortController`. */
  getSignal(): AbortSignal | undefined {
    return this.options.abortController?.signal
  }

  /** The option `abortController`, which `autoRenewAbortController` can have replaced. */
  getAbortController(): AbortController | undefined {
    return this.options.abortController
  }
}

// Not within the class: in a bundle, a class that refers to itself gets another name, which programs log.
const isCircuit = (value: unknown): value is CircuitBreaker => value instanceof CircuitBreaker

/** The types of opossum, under the names that its declarations have. */
export declare namespace CircuitBreaker {
  export type { Bucket, CacheTransport, Options, State, Stats, Status, StatusOptions }
  export type MemoryCache = CacheTransport
  export type Window = Bucket[]
}

function createStatus({ status, ...options }: Pick<Options, 'status'> & StatusOptions): Status {
  if (!status) return new Status(options)
  return status instanceof Status ? status : new Status({ stats: status })
}

const expiry = (ttl: number | false): number => (ttl && ttl > 0 ? wallTime() + ttl : 0)

const toPromise = <T>(result: T | PromiseLike<T>): Promise<T> =>
  typeof (result as PromiseLike<T> | undefined)?.then === 'function'
    ? (result as Promise<T>)
    : Promise.resolve(result)

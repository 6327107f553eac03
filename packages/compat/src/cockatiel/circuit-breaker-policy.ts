import { ManualBreaker } from '../manual-breaker.js'
import { wallTime } from '../platform.js'
import { ConstantBackoff, type IBackoff, type IBackoffFactory } from './backoff.js'
import type { IBreaker } from './breakers.js'
import { CircuitState } from './circuit-state.js'
import {
  BrokenCircuitError,
  HydratingCircuitError,
  IsolatedCircuitError,
  TaskCancelledError,
} from './errors.js'
import { type Event, EventEmitter, type IDisposable } from './event.js'
import { Executor, neverAbortedSignal, returnOrThrow } from './executor.js'
import type { Policy } from './policy.js'
import type { FailureReason, IDefaultPolicyContext, IFailureEvent, IPolicy, ISuccessEvent } from './types.js'

/** The argument of a backoff of `halfOpenAfter`. */
export interface IHalfOpenAfterBackoffContext extends IDefaultPolicyContext {
  /** How often the circuit opened in a row, 1 for the first time. */
  attempt: number
  /** The failure that opened the circuit. */
  result: FailureReason<unknown>
}

/** The options of a circuit breaker. */
export interface ICircuitBreakerOptions {
  /** Decides when the circuit opens. */
  breaker: IBreaker
  /** How long the circuit stays open before the next call is a test: milliseconds, or a backoff. */
  halfOpenAfter: number | IBackoffFactory<IHalfOpenAfterBackoffContext>
  /** The result of {@link CircuitBreakerPolicy.toJSON}, to continue in that state. */
  initialState?: unknown
}

/** The state of the circuit in the result of `toJSON`. */
type OwnState =
  | { value: CircuitState.Closed }
  | { value: CircuitState.Open; openedAt: number; attemptNo: number }
  | { value: CircuitState.Isolated; counters: number }

/** How long the circuit is open, and which time in a row it is. */
interface OpenPeriod {
  readonly openedAt: number
  readonly attemptNo: number
  readonly backoff: IBackoff<IHalfOpenAfterBackoffContext>
}

/** Rejects calls while too many have failed. */
export class CircuitBreakerPolicy implements IPolicy {
  declare readonly _altReturn: never
  private readonly options: ICircuitBreakerOptions
  private readonly executor: Executor
  private readonly circuit = new ManualBreaker()
  private readonly openPeriods: IBackoffFactory<IHalfOpenAfterBackoffContext>
  private readonly breakEmitter = new EventEmitter<FailureReason<unknown> | { isolated: true }>()
  private readonly resetEmitter = new EventEmitter<void>()
  private readonly halfOpenEmitter = new EventEmitter<void>()
  private readonly stateChangeEmitter = new EventEmitter<CircuitState>()
  /** The number of handles of {@link isolate} that are not disposed. */
  private isolations = 0
  /** The current or last time for which the circuit is open. */
  private period: OpenPeriod | undefined
  /** The test call of a half-open circuit. */
  private test: Promise<unknown> | undefined
  private failure: FailureReason<unknown> | undefined
  /** Emitted when the circuit opens. */
  readonly onBreak: Event<FailureReason<unknown> | { isolated: true }> = this.breakEmitter.addListener
  /** Emitted when the circuit closes. */
  readonly onReset: Event<void> = this.resetEmitter.addListener
  /** Emitted before a test call. */
  readonly onHalfOpen: Event<void> = this.halfOpenEmitter.addListener
  /** Emitted after each change of the state. */
  readonly onStateChange: Event<CircuitState> = this.stateChangeEmitter.addListener
  readonly onSuccess: Event<ISuccessEvent>
  readonly onFailure: Event<IFailureEvent>

  /** @internal */
  constructor(options: ICircuitBreakerOptions, executor: Executor) {
    this.options = options
    this.executor = executor
    this.onSuccess = executor.onSuccess
    this.onFailure = executor.onFailure
    const { halfOpenAfter, initialState } = options
    this.openPeriods = typeof halfOpenAfter === 'number' ? new ConstantBackoff(halfOpenAfter) : halfOpenAfter
    if (initialState) this.restore(initialState as { ownState: OwnState; breakerState: unknown })
  }

  private restore({ ownState, breakerState }: { ownState: OwnState; breakerState: unknown }): void {
    this.options.breaker.state = breakerState
    if (ownState.value === CircuitState.Isolated) this.isolations = ownState.counters
    if (ownState.value !== CircuitState.Open) return
    const { openedAt, attemptNo } = ownState
    const result = { error: new HydratingCircuitError() }
    const contextOf = (attempt: number) => ({ attempt, result, signal: neverAbortedSignal })
    let backoff = this.openPeriods.next(contextOf(1))
    for (let attempt = 2; attempt <= attemptNo; attempt++) backoff = backoff.next(contextOf(attempt))
    this.failure = result
    this.period = { openedAt, attemptNo, backoff }
    this.circuit.open()
  }

  /** The current state. */
  get state(): CircuitState {
    if (this.isolations > 0) return CircuitState.Isolated
    if (this.circuit.isClosed) return CircuitState.Closed
    return this.circuit.isOpen ? CircuitState.Open : CircuitState.HalfOpen
  }

  /** The last failure that the policy handled. */
  get lastFailure(): FailureReason<unknown> | undefined {
    return this.failure
  }

  /** Holds the circuit open until the handle is disposed, and all others that were not disposed. */
  isolate(): IDisposable {
    if (++this.isolations === 1) {
      this.breakEmitter.emit({ isolated: true })
      this.stateChangeEmitter.emit(CircuitState.Isolated)
    }
    let isDisposed = false
    return {
      dispose: () => {
        if (isDisposed) return
        isDisposed = true
        if (--this.isolations > 0) return
        this.circuit.close()
        this.resetEmitter.emit()
        this.stateChangeEmitter.emit(CircuitState.Closed)
      },
    }
  }

  /**
   * Calls the function, unless the circuit is open. A call during the test call waits for the result of the test.
   *
   * @throws BrokenCircuitError if the circuit is open
   * @throws IsolatedCircuitError if {@link isolate} holds the circuit open
   * @throws TaskCancelledError if the signal was aborted when a test call closed the circuit
   */
  async execute<T>(
    fn: (context: IDefaultPolicyContext) => PromiseLike<T> | T,
    signal: AbortSignal = neverAbortedSignal,
  ): Promise<T> {
    const state: CircuitState = this.state
    switch (state) {
      case CircuitState.Isolated:
        throw new IsolatedCircuitError()
      case CircuitState.Closed:
        return this.runClosed(fn, signal)
      case CircuitState.HalfOpen:
        await this.test?.catch(() => {})
        if (this.state === CircuitState.Closed && signal.aborted) throw new TaskCancelledError()
        return this.execute(fn, signal)
      case CircuitState.Open: {
        const { openedAt, attemptNo, backoff } = this.period as OpenPeriod
        if (wallTime() - openedAt < backoff.duration) throw new BrokenCircuitError()
        this.halfOpenEmitter.emit() // if a listener throws, the circuit stays open and the next call is a test
        const test = this.runTest(fn, signal)
        this.test = test
        this.period = { openedAt: 0, attemptNo: attemptNo + 1, backoff }
        this.circuit.halfOpen()
        this.circuit.admit()
        this.stateChangeEmitter.emit(CircuitState.HalfOpen)
        return test
      }
    }
  }

  /** Returns the state as plain data, for the option `initialState`. A half-open circuit becomes an open one whose time is over. */
  toJSON(): unknown {
    return { ownState: this.ownState(), breakerState: this.options.breaker.state }
  }

  private ownState(): OwnState {
    const { state, period, isolations } = this
    if (state === CircuitState.Isolated) return { value: state, counters: isolations }
    if (state === CircuitState.Closed || period === undefined) return { value: CircuitState.Closed }
    return { value: CircuitState.Open, openedAt: period.openedAt, attemptNo: period.attemptNo }
  }

  private async runClosed<T>(
    fn: (context: IDefaultPolicyContext) => PromiseLike<T> | T,
    signal: AbortSignal,
  ): Promise<T> {
    const { breaker } = this.options
    const result = await this.executor.invoke(fn, { signal })
    if ('success' in result) {
      breaker.success(CircuitState.Closed)
    } else {
      this.failure = result
      if (breaker.failure(CircuitState.Closed)) this.open(result, signal)
    }
    return returnOrThrow(result)
  }

  private async runTest<T>(
    fn: (context: IDefaultPolicyContext) => PromiseLike<T> | T,
    signal: AbortSignal,
  ): Promise<T> {
    const { breaker } = this.options
    try {
      const result = await this.executor.invoke(fn, { signal })
      if ('success' in result) {
        breaker.success(CircuitState.HalfOpen)
        this.close()
      } else {
        this.failure = result
        breaker.failure(CircuitState.HalfOpen)
        this.open(result, signal)
      }
      return returnOrThrow(result)
    } catch (error) {
      this.close() // an error that the policy does not handle counts as a success; after a failure the circuit is open
      throw error
    }
  }

  private open(result: FailureReason<unknown>, signal: AbortSignal): void {
    const { state, period } = this
    if (state === CircuitState.Isolated || state === CircuitState.Open) return
    const last = state === CircuitState.HalfOpen ? period : undefined
    const attemptNo = last?.attemptNo ?? 1
    const backoff = (last?.backoff ?? this.openPeriods).next({ attempt: attemptNo, result, signal })
    this.period = { openedAt: wallTime(), attemptNo, backoff }
    this.circuit.open()
    this.breakEmitter.emit(result)
    this.stateChangeEmitter.emit(CircuitState.Open)
  }

  private close(): void {
    if (this.state !== CircuitState.HalfOpen) return
    this.circuit.close()
    this.resetEmitter.emit()
    this.stateChangeEmitter.emit(CircuitState.Closed)
  }
}

/** Creates a circuit breaker that counts the failures that `policy` handles. Share it between the calls of one target. */
export const circuitBreaker = (policy: Policy, opts: ICircuitBreakerOptions): CircuitBreakerPolicy =>
  new CircuitBreakerPolicy(opts, new Executor(policy.options))

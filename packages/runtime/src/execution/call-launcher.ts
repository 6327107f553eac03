import type { CallConfiguration } from '@holdfast/config'
import {
  type Attempt,
  type BreakerEvent,
  type CircuitBreaker,
  type Guard,
  type GuardEvent,
  type GuardOptions,
  HoldfastError,
} from 'holdfast'
import { executeDirectly } from 'holdfast/internal'
import type { CallOptions, Run } from '../api-types.js'
import { checkOperation, parseCall, parseCallOptions } from '../call-options.js'
import { ConfiguredGuard } from '../configured-guard.js'
import type { CallObservers } from '../observation/call-observers.js'
import type { PoolManager } from '../pools/pool-manager.js'
import { requestOf } from '../request-call.js'
import { hasSession } from '../session-call.js'
import type { CompiledOperation } from './compiled-operation.js'
import { PassthroughCall, TrackedFirstAttempt } from './first-attempt.js'
import { compileGuardOptions } from './guard-options.js'
import { createHotShapes } from './hot-shapes.js'
import { type CompilerParts, OperationCompiler } from './operation-compiler.js'
import { RuntimeCall } from './runtime-call.js'

/** The listeners of the guards that `hf.guard` returns. */
interface GuardListeners {
  readonly hasListeners: boolean
  on(
    name: string,
    breakers: () => readonly CircuitBreaker[],
    listener: (event: GuardEvent) => void,
  ): () => void
}

export interface CallLauncherParts {
  compilerParts: CompilerParts
  pools: PoolManager
  observers: CallObservers
  guardEvents: GuardListeners
  /** The reason to reject a call with a payload, if there is one. */
  rejectionFor(): HoldfastError | undefined
  /** A call of an enabled operation is rejected because the runtime closes. The caller gets the error when the returned promise has settled. */
  onClosedCall(
    operation: CompiledOperation,
    options: CallOptions<unknown> | undefined,
    error: HoldfastError,
  ): Promise<unknown> | undefined
  /** The breaker of a guard with its own options changed. */
  onBreakerChanged(event: BreakerEvent, name: string): void
}

/** Starts calls under the configuration that is active at that moment. */
export class CallLauncher {
  private readonly parts: CallLauncherParts
  private compiler: OperationCompiler
  /** The breakers of guards with their own options, which several of these guards can share. */
  private readonly observedBreakers = new WeakSet<CircuitBreaker>()
  /** Created with the first call and never released. */
  private hotShapes: readonly object[] | undefined = undefined
  /** Whether new calls are rejected. */
  isClosed = false

  constructor(parts: CallLauncherParts, configuration: CallConfiguration) {
    this.parts = parts
    this.compiler = new OperationCompiler(configuration, parts.compilerParts)
  }

  /** Sets the configuration of the calls that start from now on. */
  applyConfiguration(configuration: CallConfiguration): void {
    const compiler = new OperationCompiler(configuration, this.parts.compilerParts)
    compiler.createBreakers()
    this.compiler = compiler
  }

  /** The compiled operation for a call. @throws POLICY_NOT_FOUND, INVALID_OPTIONS */
  operationFor(operation: string, options?: CallOptions<unknown>): CompiledOperation {
    return this.compiler.operationFor(operation, options)
  }

  /** Starts a call of an operation. Options that are not valid reject it. */
  run<T>(
    operation: string,
    fn: (attempt: Attempt) => T | PromiseLike<T>,
    options?: CallOptions<unknown>,
  ): Promise<T> {
    try {
      const callOptions = parseCall(fn, options)
      const compiled = this.operationFor(operation, callOptions)
      const request = requestOf(callOptions)
      const started =
        request === undefined || !compiled.isEnabled
          ? compiled
          : { ...compiled, guard: request.guard, canSkipTracking: false }
      return hasSession(callOptions)
        ? this.startWithSession(started, fn, callOptions)
        : this.start(started, fn, callOptions)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Starts a call whose options are marked: `R` is its value and its session. */
  private startWithSession<R>(
    operation: CompiledOperation,
    fn: (attempt: Attempt) => unknown,
    options: CallOptions<unknown> | undefined,
  ): Promise<R> {
    const rejection = this.rejectionOf(operation, options)
    if (rejection !== undefined) return rejection
    const call: Promise<unknown> = operation.isEnabled
      ? new RuntimeCall(this.parts.observers, operation, fn, options).startWithSession()
      : executeDirectly(operation.guard, () => this.start(operation, fn, options))
    return call as Promise<R>
  }

  /** Rejects a call that may not start; undefined for all others. */
  private rejectionOf(
    operation: CompiledOperation,
    options: CallOptions<unknown> | undefined,
  ): Promise<never> | undefined {
    if (this.isClosed) return this.rejectClosed(operation, options)
    const hasPayload = options?.payload !== undefined || requestOf(options)?.deadLetter !== undefined
    const error = hasPayload && operation.isEnabled ? this.parts.rejectionFor() : undefined
    return error && Promise.reject(error)
  }

  private async rejectClosed(
    operation: CompiledOperation,
    options: CallOptions<unknown> | undefined,
  ): Promise<never> {
    const error = new HoldfastError('CANCELLED', 'the runtime is closed')
    if (operation.isEnabled) await this.parts.onClosedCall(operation, options, error)
    throw error
  }

  private start<T>(
    operation: CompiledOperation,
    fn: (attempt: Attempt) => T | PromiseLike<T>,
    options: CallOptions<unknown> | undefined,
  ): Promise<T> {
    const { observers, guardEvents, pools } = this.parts
    const rejection = this.rejectionOf(operation, options)
    if (rejection !== undefined) return rejection
    if (!operation.isEnabled) {
      const { pool, context, signal } = options ?? {}
      if (signal?.aborted) return Promise.reject(signal.reason)
      const member = pool === undefined ? undefined : pools.get(pool).pick(context)
      return operation.guard.startTracked(fn, new PassthroughCall(observers.active, member, signal))
    }
    if (this.hotShapes === undefined) this.hotShapes = createHotShapes(observers, operation)
    const { signal, retry, timeout, fallback } = options ?? {}
    const needsFullCall =
      signal !== undefined ||
      retry !== undefined ||
      timeout !== undefined ||
      fallback !== undefined ||
      guardEvents.hasListeners
    return operation.canSkipTracking && !needsFullCall
      ? operation.guard.startTracked(fn, new TrackedFirstAttempt(observers, operation, options))
      : new RuntimeCall(observers, operation, fn, options).start()
  }

  /** Adds a listener for the events of calls with these options, and of the breakers that these calls must pass. */
  on(
    operation: string,
    options: CallOptions<unknown> | undefined,
    listener: (event: GuardEvent) => void,
  ): () => void {
    const breakers = () => {
      try {
        return this.operationFor(operation, options).breakers
      } catch {
        return [] // The configuration no longer has what the options name, so that each call is rejected.
      }
    }
    return this.parts.guardEvents.on(options?.name ?? operation, breakers, listener)
  }

  /** Creates a guard that passes its calls to `run`; each uses the configuration that is active when it starts. */
  guard(operation: string, run: Run, callOptions: CallOptions<unknown> | undefined): Guard {
    checkOperation(operation)
    const options = parseCallOptions(callOptions)
    return new ConfiguredGuard(
      operation,
      {
        run,
        breaker: () => this.operationFor(operation, options).initialPolicy.breaker,
        on: (listener) => this.on(operation, options, listener),
      },
      options,
    )
  }

  /** Creates a guard with its own options, whose calls are recorded and logged like all others. */
  guardFor(name: string, options: GuardOptions): Guard {
    const { compilerParts, guardEvents, onBreakerChanged } = this.parts
    const operation = compileGuardOptions(name, options, compilerParts)
    const { breaker } = operation
    if (breaker !== undefined && !this.observedBreakers.has(breaker)) {
      this.observedBreakers.add(breaker)
      breaker.on((event) => onBreakerChanged(event, name))
    }
    return new ConfiguredGuard(
      name,
      {
        run: async (_, fn, input) => {
          const parsed = parseCall(fn, input)
          return hasSession(parsed)
            ? this.startWithSession(operation, fn, parsed)
            : this.start(operation, fn, parsed)
        },
        breaker: () => breaker,
        on: (listener) => guardEvents.on(name, () => operation.breakers, listener),
      },
      undefined,
    )
  }
}

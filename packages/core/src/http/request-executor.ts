import { AttemptContext, type PooledAttempt } from '../attempt/attempt.js'
import type { Classification } from '../classify/classification.js'
import { byHttpStatus } from '../classify/http.js'
import type { Executed } from '../execution/call.js'
import { executeDirectly } from '../execution/direct-call.js'
import { Execution } from '../execution/execution.js'
import type { CallTimeouts } from '../execution/hooks.js'
import type { GuardEvent } from '../guard/events.js'
import { type ExecutorOptions, GuardExecutor } from '../guard/guard-executor.js'
import type { GuardSettings } from '../guard/options.js'
import type { CompiledRetryPolicy } from '../retry/options.js'
import { isExhaustedResponse } from './exhausted-response.js'
import type { RequestPolicy } from './options.js'
import { type ReplayableRequest, ReplaySafePool, registerRequest } from './replay-safe-pool.js'
import { parseTunnelStatus } from './tunnel.js'

/** The execution of one request. */
export interface RequestExecution<T> {
  start(): Promise<T>
  abort(reason: unknown): void
}

/** Runs the attempts of requests: under a guard, or under a layer above it such as the runtime. */
export interface RequestRunner {
  readonly settings: GuardSettings
  /** Whether an attempt can be aborted before its response, so that it needs a signal. */
  readonly canAbortAttempts: boolean
  /** The same for a request with these timeouts. */
  canAbortWith(timeouts: CallTimeouts | undefined): boolean
  classify(error: unknown): ReturnType<GuardExecutor['classify']>
  /**
   * The policy for a failure, converted by `toRetryPolicy`. It is absent where the policy of the request applies to all of them.
   */
  policyFor?(classification: Classification | undefined): RequestPolicy
  createExecution<T, M>(
    request: ReplayableRequest,
    send: (attempt: PooledAttempt<M>) => T | PromiseLike<T>,
    retry: CompiledRetryPolicy,
    isHedgeable: boolean,
    timeouts?: CallTimeouts,
  ): RequestExecution<T>
}

/** The status of a response or of an error that represents one. */
function statusOf(result: unknown): number | undefined {
  const { status } = Object(result) as { status?: unknown }
  return typeof status === 'number' ? status : undefined
}

/** Adds to a policy that a request which must not be sent again is not retried. */
export function withReplayRule(request: ReplayableRequest, retry: CompiledRetryPolicy): CompiledRetryPolicy {
  const { matchesAbortOn } = retry
  return {
    ...retry,
    matchesAbortOn: (result, classification) =>
      request.mustNotRepeat(result, classification) || matchesAbortOn?.(result, classification) === true,
    reportsExhaustion: isExhaustedResponse,
  }
}

/** Runs requests under a guard. The policy of each call consults the request before it is sent again. */
export class RequestExecutor implements RequestRunner {
  readonly settings: GuardSettings
  /** Whether an attempt can be aborted before its response, so that it needs a signal. */
  readonly canAbortAttempts: boolean
  private readonly guardExecutor: GuardExecutor
  /** The same guard without hedging, for requests that must not be sent twice. */
  private readonly unhedgedExecutor: GuardExecutor

  constructor(settings: GuardSettings, options?: ExecutorOptions) {
    const { pool, hedge, classify } = settings
    const requestSettings: GuardSettings = {
      ...settings,
      pool: pool && new ReplaySafePool(pool),
      statusOf,
      classify: (error) => {
        const status = parseTunnelStatus(error)
        return status === undefined ? classify?.(error) : { ...byHttpStatus(status), ...classify?.(error) }
      },
    }
    this.settings = requestSettings
    this.guardExecutor = new GuardExecutor(requestSettings, options)
    this.unhedgedExecutor =
      hedge === undefined
        ? this.guardExecutor
        : new GuardExecutor({ ...requestSettings, hedge: undefined }, options)
    this.canAbortAttempts = this.guardExecutor.hasDeadline || hedge !== undefined
  }

  /** Whether an attempt of a request with these timeouts can be aborted before its response, so that it needs a signal. */
  canAbortWith(timeouts: CallTimeouts | undefined): boolean {
    if (timeouts === undefined || this.settings.hedge !== undefined) return this.canAbortAttempts
    return Math.min(timeouts.attemptTimeout, timeouts.totalTimeout) < Infinity
  }

  /** Classifies an error with the `classify` option of the guard. */
  classify(error: unknown): ReturnType<GuardExecutor['classify']> {
    return this.guardExecutor.classify(error, true)
  }

  /** Creates the execution of a request; {@link Execution.start} starts it. */
  createExecution<T, M>(
    request: ReplayableRequest,
    send: (attempt: PooledAttempt<M>) => T | PromiseLike<T>,
    retry: CompiledRetryPolicy,
    isHedgeable: boolean,
    timeouts?: CallTimeouts,
  ): Execution<T> {
    const policy = withReplayRule(request, retry)
    const executor = this.executorFor(request, isHedgeable)
    return new Execution<T>(executor, send, undefined, undefined, policy, request, undefined, timeouts)
  }

  /** The guard for a request, whose pool consults the request before it is sent to another member. */
  executorFor(request: ReplayableRequest, isHedgeable: boolean): GuardExecutor {
    if (this.settings.pool !== undefined) registerRequest(request)
    return isHedgeable ? this.guardExecutor : this.unhedgedExecutor
  }

  /** Runs the only attempt of a guard with `enabled: false`. */
  executeUnguarded<T, M>(send: (attempt: PooledAttempt<M>) => Promise<T>): Promise<Executed<T>> {
    return executeDirectly(this.guardExecutor, () => send(new AttemptContext(1, undefined)))
  }

  /** Calls `listener` at the events of all requests. Returns a function that unsubscribes it. */
  on(listener: (event: GuardEvent) => void): () => void {
    const { guardExecutor, unhedgedExecutor } = this
    // Both executors emit the events of the breaker they share, so those of one are dropped.
    const unsubscribeUnhedged =
      unhedgedExecutor === guardExecutor
        ? undefined
        : unhedgedExecutor.on((event) => {
            if (event.type !== 'breaker_changed') listener(event)
          })
    const unsubscribe = guardExecutor.on(listener)
    return () => {
      unsubscribeUnhedged?.()
      unsubscribe()
    }
  }
}

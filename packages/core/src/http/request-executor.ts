import { byHttpStatus } from '../classify/http.js'
import { AttemptContext, type PooledAttempt } from '../execution/attempt.js'
import { Execution } from '../execution/execution.js'
import type { GuardEvent } from '../guard/events.js'
import { GuardExecutor } from '../guard/guard-executor.js'
import type { GuardSettings } from '../guard/options.js'
import type { CompiledRetryPolicy } from '../retry/options.js'
import { type ReplayableRequest, ReplaySafePool, registerRequest } from './replay-safe-pool.js'
import { parseTunnelStatus } from './tunnel.js'

/** Runs requests under a guard, each with a policy that asks the request itself whether it may be sent again. */
export class RequestExecutor {
  readonly settings: GuardSettings
  /** Whether an attempt may be ended before its answer, so that it needs a signal. */
  readonly canAbortAttempts: boolean
  private readonly guardExecutor: GuardExecutor
  /** The same guard for requests that must not be there twice. */
  private readonly unhedgedExecutor: GuardExecutor

  constructor(settings: GuardSettings) {
    const { pool, hedge, classify } = settings
    const careful: GuardSettings = {
      ...settings,
      pool: pool && new ReplaySafePool(pool),
      classify: (error) => {
        const status = parseTunnelStatus(error)
        return status === undefined ? classify?.(error) : { ...byHttpStatus(status), ...classify?.(error) }
      },
    }
    this.settings = careful
    this.guardExecutor = new GuardExecutor(careful)
    this.unhedgedExecutor =
      hedge === undefined ? this.guardExecutor : new GuardExecutor({ ...careful, hedge: undefined })
    this.canAbortAttempts = this.guardExecutor.hasDeadline || hedge !== undefined
  }

  /** What the guard takes an error for. */
  classify(error: unknown): ReturnType<GuardExecutor['classify']> {
    return this.guardExecutor.classify(error, true)
  }

  /** Makes a request's call; {@link Execution.start} begins it. */
  createCall<T, M>(
    request: ReplayableRequest,
    send: (attempt: PooledAttempt<M>) => T | PromiseLike<T>,
    retry: CompiledRetryPolicy,
    isHedgeable: boolean,
    signal: AbortSignal | undefined,
  ): Execution<T> {
    const { matchesAbortOn } = retry
    const { context } = request
    const policy: CompiledRetryPolicy = {
      ...retry,
      matchesAbortOn: (result, classification) =>
        request.mustNotRepeat(result) || matchesAbortOn?.(result, classification) === true,
    }
    if (this.settings.pool !== undefined) registerRequest(request)
    const core = isHedgeable ? this.guardExecutor : this.unhedgedExecutor
    return new Execution<T>(core, send, undefined, undefined, policy, { context, signal })
  }

  /** The one attempt of a guard that is switched off. */
  runUnguarded<T, M>(send: (attempt: PooledAttempt<M>) => T): T {
    return send(new AttemptContext(1, undefined))
  }

  /** Tells `listener` what happens to all requests, until the function it returns is called. */
  on(listener: (event: GuardEvent) => void): () => void {
    const { guardExecutor, unhedgedExecutor } = this
    // Both hear of the breaker they share; one of them tells.
    const unsubscribe =
      unhedgedExecutor === guardExecutor
        ? undefined
        : unhedgedExecutor.on((event) => {
            if (event.type !== 'breaker_changed') listener(event)
          })
    const unsubscribeUnhedged = guardExecutor.on(listener)
    return () => {
      unsubscribe?.()
      unsubscribeUnhedged()
    }
  }
}

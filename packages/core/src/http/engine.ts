import { byStatus } from '../classify/http.js'
import { AttemptContext, type PooledAttempt } from '../execution/attempt.js'
import { Execution } from '../execution/execution.js'
import type { GuardEvent } from '../guard/events.js'
import { GuardExecutor } from '../guard/guard-executor.js'
import type { GuardSettings } from '../guard/options.js'
import type { RetryPolicy } from '../retry/options.js'
import { CarefulPool, type Repeatable, register } from './careful-pool.js'
import { tunnelStatus } from './tunnel.js'

/** Runs requests under a guard, each with a policy that asks the request itself whether it may be sent again. */
export class Engine {
  readonly settings: GuardSettings
  /** Whether an attempt may be ended before its answer, so that it needs a signal. */
  readonly cuts: boolean
  private readonly core: GuardExecutor
  /** The same guard for requests that must not be there twice. */
  private readonly unhedged: GuardExecutor

  constructor(settings: GuardSettings) {
    const { pool, hedge, classify } = settings
    const careful: GuardSettings = {
      ...settings,
      pool: pool && new CarefulPool(pool),
      classify: (error) => {
        const status = tunnelStatus(error)
        return status === undefined ? classify?.(error) : { ...byStatus(status), ...classify?.(error) }
      },
    }
    this.settings = careful
    this.core = new GuardExecutor(careful)
    this.unhedged = hedge === undefined ? this.core : new GuardExecutor({ ...careful, hedge: undefined })
    this.cuts = this.core.hasDeadline || hedge !== undefined
  }

  /** What the guard takes an error for. */
  classify(error: unknown): ReturnType<GuardExecutor['classify']> {
    return this.core.classify(error, true)
  }

  /** Makes a request's call; {@link Execution.start} begins it. */
  call<T, M>(
    request: Repeatable,
    send: (attempt: PooledAttempt<M>) => T | PromiseLike<T>,
    retry: RetryPolicy,
    twice: boolean,
    signal: AbortSignal | undefined,
  ): Execution<T> {
    const { unwanted } = retry
    const { context } = request
    const policy: RetryPolicy = {
      ...retry,
      unwanted: (result, known) => request.refuses(result) || unwanted?.(result, known) === true,
    }
    if (this.settings.pool !== undefined) register(request)
    const core = twice ? this.core : this.unhedged
    return new Execution<T>(core, send, undefined, undefined, policy, { context, signal })
  }

  /** The one attempt of a guard that is switched off. */
  straight<T, M>(send: (attempt: PooledAttempt<M>) => T): T {
    return send(new AttemptContext(1, undefined))
  }

  /** Tells `listener` what happens to all requests, until the function it returns is called. */
  on(listener: (event: GuardEvent) => void): () => void {
    const { core, unhedged } = this
    // Both hear of the breaker they share; one of them tells.
    const off =
      unhedged === core
        ? undefined
        : unhedged.on((event) => {
            if (event.type !== 'breaker_changed') listener(event)
          })
    const offToo = core.on(listener)
    return () => {
      off?.()
      offToo()
    }
  }
}

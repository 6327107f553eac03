import { byStatus } from '../classify/http.js'
import { Flight, type PooledAttempt } from '../guard/attempt.js'
import { Call } from '../guard/call.js'
import { GuardCore } from '../guard/core.js'
import type { GuardEvent } from '../guard/events.js'
import type { GuardSettings } from '../guard/options.js'
import type { RetryPolicy } from '../retry/options.js'
import { CarefulPool, type Repeatable, register } from './careful-pool.js'
import { tunnelStatus } from './tunnel.js'

/** Runs requests under a guard, each with a policy that asks the request itself whether it may be sent again. */
export class Engine {
  readonly settings: GuardSettings
  /** Whether an attempt may be ended before its answer, so that it needs a signal. */
  readonly cuts: boolean
  private readonly core: GuardCore
  /** The same guard for requests that must not be there twice. */
  private readonly unhedged: GuardCore

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
    this.core = new GuardCore(careful)
    this.unhedged = hedge === undefined ? this.core : new GuardCore({ ...careful, hedge: undefined })
    this.cuts = this.core.timed || hedge !== undefined
  }

  /** What the guard takes an error for. */
  classify(error: unknown): ReturnType<GuardCore['classify']> {
    return this.core.classify(error, true)
  }

  /** Makes a request's call; {@link Call.start} begins it. */
  call<T, M>(
    request: Repeatable,
    send: (attempt: PooledAttempt<M>) => T | PromiseLike<T>,
    retry: RetryPolicy,
    twice: boolean,
    signal: AbortSignal | undefined,
  ): Call<T> {
    const { unwanted } = retry
    const { context } = request
    const policy: RetryPolicy = {
      ...retry,
      unwanted: (result, known) => request.refuses(result) || unwanted?.(result, known) === true,
    }
    if (this.settings.pool !== undefined) register(request)
    const core = twice ? this.core : this.unhedged
    return new Call<T>(core, send, undefined, undefined, policy, { context, signal })
  }

  /** The one attempt of a guard that is switched off. */
  straight<T, M>(send: (attempt: PooledAttempt<M>) => T): T {
    return send(new Flight(1, undefined))
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

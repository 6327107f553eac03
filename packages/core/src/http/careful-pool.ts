import type { HoldfastError } from '../errors.js'
import type { Pick, PickOutcome, PoolProtocol } from '../pool/protocol.js'
import { StatusError } from './status-error.js'

/** A request that knows what may become of it. */
export interface Repeatable {
  /** What events, the fallback, the breaker's key and the pool are told of it. */
  readonly context: object
  /** Whether it must not be sent again after this error or answer. */
  refuses(result: unknown): boolean
}

const requests = new WeakMap<object, Repeatable>()

/** Makes a request known to the pool by its context. */
export function register(request: Repeatable): void {
  requests.set(request.context, request)
}

/**
 * A pool that does not fail over with a request that must not be sent again, and to which an answer is a value, whatever
 * its status.
 */
export class CarefulPool implements PoolProtocol {
  private readonly pool: PoolProtocol
  private readonly requests = new WeakMap<readonly Pick[], Repeatable>()

  constructor(pool: PoolProtocol) {
    this.pool = pool
  }

  hasOther(picks: readonly Pick[]): boolean {
    return this.pool.hasOther(picks)
  }

  take(context: unknown, picks: readonly Pick[], lease: number | undefined): Pick | undefined {
    const request = requests.get(context as object)
    if (request !== undefined && picks.length === 0) this.requests.set(picks, request)
    return this.pool.take(context, picks, lease)
  }

  settle(pick: Pick, outcome: PickOutcome, picks: readonly Pick[]): boolean {
    const { result } = outcome
    const told =
      result instanceof StatusError ? { ...outcome, threw: false, result: result.response } : outcome
    const elsewhere = this.pool.settle(pick, told, picks)
    return elsewhere && this.requests.get(picks)?.refuses(result) === false
  }

  refusal(): HoldfastError {
    return this.pool.refusal()
  }
}

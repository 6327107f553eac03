import type { HoldfastError } from '../errors.js'
import type { MemberPool, Selection, SelectionOutcome } from '../pool/members/member-pool.js'
import { StatusError } from './status-error.js'

/** A request that knows what may become of it. */
export interface ReplayableRequest {
  /** What events, the fallback, the breaker's key and the pool are told of it. */
  readonly context: object
  /** Whether it must not be sent again after this error or answer. */
  mustNotRepeat(result: unknown): boolean
}

const requests = new WeakMap<object, ReplayableRequest>()

/** Makes a request known to the pool by its context. */
export function registerRequest(request: ReplayableRequest): void {
  requests.set(request.context, request)
}

/**
 * A pool that does not fail over with a request that must not be sent again, and to which an answer is a value, whatever
 * its status.
 */
export class ReplaySafePool implements MemberPool {
  private readonly pool: MemberPool
  private readonly requests = new WeakMap<readonly Selection[], ReplayableRequest>()

  constructor(pool: MemberPool) {
    this.pool = pool
  }

  hasUntriedMember(selections: readonly Selection[]): boolean {
    return this.pool.hasUntriedMember(selections)
  }

  select(
    context: unknown,
    selections: readonly Selection[],
    lease: number | undefined,
  ): Selection | undefined {
    const request = requests.get(context as object)
    if (request !== undefined && selections.length === 0) this.requests.set(selections, request)
    return this.pool.select(context, selections, lease)
  }

  recordOutcome(selection: Selection, outcome: SelectionOutcome, selections: readonly Selection[]): boolean {
    const { result } = outcome
    const reported =
      result instanceof StatusError ? { ...outcome, hasThrown: false, result: result.response } : outcome
    const isMemberFault = this.pool.recordOutcome(selection, reported, selections)
    return isMemberFault && this.requests.get(selections)?.mustNotRepeat(result) === false
  }

  createUnavailableError(): HoldfastError {
    return this.pool.createUnavailableError()
  }
}

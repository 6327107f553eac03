import type { Classification } from '../classify/classification.js'
import type { HoldfastError } from '../errors.js'
import type { MemberPool, Selection, SelectionOutcome } from '../pool/members/member-pool.js'
import { StatusError } from './status-error.js'

/** A request that decides whether it can be sent again. */
export interface ReplayableRequest {
  /** The context of the call, by which the pool finds the request. */
  readonly context: object
  /** Ends the request when aborted. */
  readonly signal: AbortSignal | undefined
  /** Whether the request must not be sent again after this error or response, which is classified so. */
  mustNotRepeat(result: unknown, classification: Classification | undefined): boolean
}

const requests = new WeakMap<object, ReplayableRequest>()

/** Registers a request by its context, for {@link ReplaySafePool}. */
export function registerRequest(request: ReplayableRequest): void {
  requests.set(request.context, request)
}

/**
 * A pool that does not fail over with a request that must not be sent again. The wrapped pool receives a response as a
 * returned value, whatever its status.
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
    const { result, classification } = outcome
    const reported =
      result instanceof StatusError ? { ...outcome, hasThrown: false, result: result.response } : outcome
    const isMemberFault = this.pool.recordOutcome(selection, reported, selections)
    return isMemberFault && this.requests.get(selections)?.mustNotRepeat(result, classification) === false
  }

  createUnavailableError(): HoldfastError {
    return this.pool.createUnavailableError()
  }
}

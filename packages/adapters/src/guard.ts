import type { Attempt, Guard, RunOptions } from 'holdfast'

/**
 * A guard that runs the calls of an adapter: one of `holdfast`, or `hf.guard('operation')` of the runtime, whose calls are
 * recorded. `F` is the result type of its fallback.
 */
export type CallGuard<F = never> = Pick<Guard<Attempt, F>, 'run'>

/** The options of one call. The options of the runtime are only for a guard of `hf.guard`; a guard of `holdfast` rejects them. */
export interface AdapterCallOptions extends RunOptions {
  /** Runtime: stored as a dead letter if the call fails. */
  payload?: unknown
  /** Runtime: what the call is about, such as the id of an order. */
  itemId?: string | undefined
  /** Runtime: the correlation id in the records of the call. */
  correlationId?: string | undefined
  /** Runtime: the key with which a dead letter is replayed. */
  idempotencyKey?: string | undefined
  /** Runtime: the service whose breaker applies. */
  service?: string | undefined
}

import type { Bulkhead } from '../bulkhead/bulkhead.js'
import type { Classification } from '../classify/index.js'
import type { Clock, Random } from '../clock.js'
import type { Fallback } from '../fallback/fallback.js'
import type { HedgeSettings } from '../hedge/hedge.js'
import type { MemberPool } from '../pool/members/member-pool.js'
import type { RetryBudget } from '../retry/budget.js'
import type { CompiledRetryPolicy } from '../retry/options.js'
import type { DeadlineQueue } from '../timeout/deadline-queue.js'
import type { Admission } from './admission.js'
import type { CallOptions } from './call.js'
import type { ExecutionEvent } from './events.js'

/** The settings of a guard that its executions read. */
export interface ExecutionSettings {
  readonly name: string | undefined
  readonly retry: CompiledRetryPolicy
  readonly attemptTimeout: number
  readonly totalTimeout: number
  readonly bulkhead: Bulkhead | undefined
  readonly budget: RetryBudget | undefined
  readonly pool: MemberPool | undefined
  readonly hedge: HedgeSettings | undefined
  readonly fallback: Fallback | undefined
  readonly clock: Clock
  readonly random: Random
  /** Returns the HTTP status of a result, where the calls are requests. */
  readonly statusOf?: (result: unknown) => number | undefined
}

/** What an execution needs from the guard that started it. */
export interface Executor {
  readonly settings: ExecutionSettings
  readonly attemptDeadlines: DeadlineQueue
  readonly totalDeadlines: DeadlineQueue
  /** The queue of first attempts. */
  readonly firstDeadlines: DeadlineQueue
  readonly hasDeadline: boolean
  /** Whether calls that start shortly after each other can share one reading of the clock. */
  readonly canShareStartTime: boolean
  readonly listeners: { emit(event: ExecutionEvent): void }
  readonly hasListeners: boolean
  /** Classifies an error, or a value that is treated as a failure. */
  classify(result: unknown, hasThrown: boolean): Classification
  /** Creates the admission of one execution; undefined where the guard has no breaker. */
  createAdmission(options: CallOptions | undefined, lease: number | undefined): Admission | undefined
  /** Records the success of a first attempt that the breaker admitted in `epoch`. */
  recordSuccess(epoch: number): void
}

import type { CircuitBreaker } from '../breaker/breaker.js'
import { isCountedFailure } from '../breaker/counted-failure.js'
import type { BreakerOutcome } from '../breaker/permit.js'
import type { Classification } from '../classify/index.js'

/** The classification of an attempt that the caller aborted: it counts for nothing. */
export const CANCELLED_ATTEMPT: Classification = { category: 'permanent', kind: 'cancelled' }

/** Whether a returned value has an HTTP status, which may report a failure. */
export const hasStatus = (value: unknown): boolean =>
  typeof (value as { status?: unknown } | null | undefined)?.status === 'number'

/** What an outcome means to a breaker, by the breaker's own rules or the default ones; undefined is ignored. */
export function breakerOutcome(
  breaker: CircuitBreaker | undefined,
  threw: boolean,
  result: unknown,
  known: Classification | undefined,
): BreakerOutcome {
  if (known === undefined || !(threw || (known.httpStatus ?? 0) >= 400)) return 'success'
  return isCountedFailure(breaker?.settings, result, known) ? 'failure' : undefined
}

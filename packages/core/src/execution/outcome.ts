import type { CircuitBreaker } from '../breaker/breaker.js'
import { isCountedFailure } from '../breaker/counted-failure.js'
import type { BreakerOutcome } from '../breaker/permit.js'
import type { Classification } from '../classify/index.js'

/** The classification of an attempt that the caller aborted; breakers and pools ignore it. */
export const CANCELLED_ATTEMPT: Classification = { category: 'permanent', kind: 'cancelled' }

/** Whether a returned value has an HTTP status, which can report a failure. */
export const hasStatus = (value: unknown): boolean =>
  typeof (value as { status?: unknown } | null | undefined)?.status === 'number'

/** How a breaker counts an outcome, by its own rules or the default ones; undefined where it ignores the outcome. */
export function breakerOutcome(
  breaker: CircuitBreaker | undefined,
  hasThrown: boolean,
  result: unknown,
  known: Classification | undefined,
): BreakerOutcome {
  if (known === undefined || !(hasThrown || (known.httpStatus ?? 0) >= 400)) return 'success'
  return isCountedFailure(breaker?.settings, result, known) ? 'failure' : undefined
}

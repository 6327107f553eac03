import type { CircuitBreaker } from '../breaker/breaker.js'
import { counts } from '../breaker/counts.js'
import type { Verdict } from '../breaker/permit.js'
import type { Classification } from '../classify/index.js'

/** What an attempt that the caller called off is taken for: it says nothing about anybody. */
export const CALLED_OFF: Classification = { category: 'permanent', kind: 'cancelled' }

/** Whether a value is an answer with an HTTP status, which may tell of a failure. */
export const hasStatus = (value: unknown): boolean =>
  typeof (value as { status?: unknown } | null | undefined)?.status === 'number'

/** What an outcome is to a breaker, by its own rules or the usual ones. */
export function verdictOf(
  breaker: CircuitBreaker | undefined,
  threw: boolean,
  result: unknown,
  known: Classification | undefined,
): Verdict {
  if (known === undefined || !(threw || (known.httpStatus ?? 0) >= 400)) return 'success'
  return counts(breaker?.settings, result, known) ? 'failure' : undefined
}

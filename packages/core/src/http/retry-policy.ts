import type { CompiledRetryPolicy, Outcome } from '../retry/options.js'
import type { RequestPolicy } from './options.js'
import { StatusError } from './status-error.js'

/**
 * Converts the policy of a request for an execution. A response whose status is a failure reaches the execution as a
 * {@link StatusError}, but `retryIf` as a value.
 */
export function toRetryPolicy({ retry, rules }: RequestPolicy): CompiledRetryPolicy {
  const { retryIf, matchesRetryOn } = retry
  const { retryStatusCodes: codes, notProcessedStatuses } = rules
  const shouldAddStatuses = matchesRetryOn === undefined && notProcessedStatuses.size > 0
  if (retryIf === undefined && codes === undefined && !shouldAddStatuses) return retry
  return {
    ...retry,
    retryIf: retryIf && ((outcome) => retryIf(statusAsValue(outcome))),
    matchesRetryOn:
      codes === undefined && !shouldAddStatuses
        ? matchesRetryOn
        : (error, classification) => {
            if (error instanceof StatusError && codes !== undefined) return codes.has(error.status)
            if (matchesRetryOn !== undefined) return matchesRetryOn(error, classification)
            return (
              classification.category === 'transient' ||
              (error instanceof StatusError && notProcessedStatuses.has(error.status))
            )
          },
  }
}

/** Converts a {@link StatusError} in an outcome to its response as value. */
function statusAsValue(outcome: Outcome): Outcome {
  const { error, attempt } = outcome
  return error instanceof StatusError ? { value: error.response, attempt } : outcome
}

import type { CompiledRetryPolicy, Outcome } from '../retry/options.js'
import type { RequestPolicy } from './options.js'
import { StatusError } from './status-error.js'

/**
 * The policy as the engine runs it: an answer whose status tells of a failure comes to it as a {@link StatusError}, but
 * to `retryIf` as the value that it is.
 */
export function toRetryPolicy({ retry, rules }: RequestPolicy): CompiledRetryPolicy {
  const { retryIf, matchesRetryOn } = retry
  const { retryStatusCodes: codes, notProcessedStatuses } = rules
  const adds = matchesRetryOn === undefined && notProcessedStatuses.size > 0
  if (retryIf === undefined && codes === undefined && !adds) return retry
  return {
    ...retry,
    retryIf: retryIf && ((outcome) => retryIf(statusAsValue(outcome))),
    matchesRetryOn:
      codes === undefined && !adds
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

/** An outcome in which a status is no error. */
function statusAsValue(outcome: Outcome): Outcome {
  const { error, attempt } = outcome
  return error instanceof StatusError ? { value: error.response, attempt } : outcome
}

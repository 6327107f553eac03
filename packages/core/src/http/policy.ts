import type { Outcome, RetryPolicy } from '../retry/options.js'
import type { RequestPolicy } from './options.js'
import { StatusError } from './status-error.js'

/**
 * The policy as the engine runs it: an answer whose status tells of a failure comes to it as a {@link StatusError}, but
 * to `retryIf` as the value that it is.
 */
export function enginePolicy({ retry, rules }: RequestPolicy): RetryPolicy {
  const { retryIf, wanted } = retry
  const { retryStatusCodes: codes, notProcessedStatuses } = rules
  const adds = wanted === undefined && notProcessedStatuses.size > 0
  if (retryIf === undefined && codes === undefined && !adds) return retry
  return {
    ...retry,
    retryIf: retryIf && ((outcome) => retryIf(asValue(outcome))),
    wanted:
      codes === undefined && !adds
        ? wanted
        : (error, known) => {
            if (error instanceof StatusError && codes !== undefined) return codes.has(error.status)
            if (wanted !== undefined) return wanted(error, known)
            return (
              known.category === 'transient' ||
              (error instanceof StatusError && notProcessedStatuses.has(error.status))
            )
          },
  }
}

/** An outcome in which a status is no error. */
function asValue(outcome: Outcome): Outcome {
  const { error, attempt } = outcome
  return error instanceof StatusError ? { value: error.response, attempt } : outcome
}

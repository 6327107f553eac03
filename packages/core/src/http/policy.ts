import type { Outcome, RetryPolicy } from '../retry/options.js'
import type { RequestPolicy } from './options.js'
import { StatusError } from './status-error.js'

/**
 * The policy as the engine runs it: an answer whose status tells of a failure comes to it as a {@link StatusError}, but
 * to `retryIf` as the value that it is.
 */
export function enginePolicy({ retry, rules }: RequestPolicy): RetryPolicy {
  const { retryIf, wanted } = retry
  const codes = rules.retryStatusCodes
  if (retryIf === undefined && codes === undefined) return retry
  return {
    ...retry,
    retryIf: retryIf && ((outcome) => retryIf(asValue(outcome))),
    wanted:
      codes === undefined
        ? wanted
        : (error, known) => {
            if (error instanceof StatusError) return codes.has(error.status)
            return wanted === undefined ? known.category === 'transient' : wanted(error, known)
          },
  }
}

/** An outcome in which a status is no error. */
function asValue(outcome: Outcome): Outcome {
  const { error, attempt } = outcome
  return error instanceof StatusError ? { value: error.response, attempt } : outcome
}

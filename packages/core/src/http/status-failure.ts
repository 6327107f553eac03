import type { CompiledRetryPolicy } from '../retry/options.js'
import { transferSession } from '../session/session.js'
import type { RequestRunner } from './request-executor.js'
import { type Answer, StatusError } from './status-error.js'

/** The data that decides whether the status of a response is a failure. */
export interface StatusContext {
  readonly executor: Pick<RequestRunner, 'classify'>
  readonly retry: CompiledRetryPolicy
  readonly retryStatusCodes: ReadonlySet<number> | undefined
  readonly context: { readonly method: string; readonly origin: string }
}

/**
 * Creates the error that represents a response with a status of 400 or more. `isFailure` is false for a permanent status that
 * is not retried: the server works, and its answer is final.
 */
export function toStatusFailure<R extends Answer>(
  response: R,
  { executor, retry, retryStatusCodes, context }: StatusContext,
): { error: StatusError<R>; isFailure: boolean } {
  const { method, origin } = context
  const error = new StatusError<R>(`${method} ${origin} answered ${response.status}`, response)
  transferSession(response, error) // that of another fetch inside this one
  const classification = executor.classify(error)
  const isFailure =
    classification.category !== 'permanent' ||
    retryStatusCodes?.has(response.status) === true ||
    retry.matchesRetryOn?.(error, classification) === true
  return { error, isFailure }
}

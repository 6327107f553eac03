import type { CompiledRetryPolicy } from '../retry/options.js'
import { transferSession } from '../session/session.js'
import type { RequestRunner } from './request-executor.js'
import { type Answer, StatusError } from './status-error.js'

/** The data that decides whether the status of a response is a failure. */
export interface StatusContext {
  readonly executor: Pick<RequestRunner, 'classify' | 'policyFor'>
  /** The policy of the request, converted by `toRetryPolicy`. */
  readonly retry: CompiledRetryPolicy
  readonly context: { readonly method: string; readonly origin: string }
}

/**
 * Creates the error that represents a response with a status of 400 or more. `isFailure` is false for a permanent status that
 * is not retried: the server works, and its answer is final. `retry` is the policy that decides about it.
 */
export function toStatusFailure<R extends Answer>(
  response: R,
  { executor, retry: initialRetry, context }: StatusContext,
): { error: StatusError<R>; isFailure: boolean; retry: CompiledRetryPolicy } {
  const { method, origin } = context
  const error = new StatusError<R>(`${method} ${origin} answered ${response.status}`, response)
  transferSession(response, error) // that of another fetch inside this one
  const classification = executor.classify(error)
  const retry = executor.policyFor?.(classification).retry ?? initialRetry
  const isFailure =
    classification.category !== 'permanent' || retry.matchesRetryOn?.(error, classification) === true
  return { error, isFailure, retry }
}

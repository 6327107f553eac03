import type { CompiledRetryPolicy } from '../retry/options.js'
import type { RequestExecutor } from './request-executor.js'
import { type Answer, StatusError } from './status-error.js'

/** What an answer is judged by. */
export interface StatusContext {
  readonly executor: RequestExecutor
  readonly retry: CompiledRetryPolicy
  readonly retryStatusCodes: ReadonlySet<number> | undefined
  readonly context: { readonly method: string; readonly origin: string }
}

/**
 * The error that stands for an answer of 400 or more. To the engine it is a failure unless it is permanent, for then the
 * other side is well and has said its word; `isFailure` tells.
 */
export function toStatusFailure<R extends Answer>(
  response: R,
  { executor, retry, retryStatusCodes, context }: StatusContext,
): { error: StatusError<R>; fails: boolean } {
  const { method, origin } = context
  const error = new StatusError<R>(`${method} ${origin} answered ${response.status}`, response)
  const classification = executor.classify(error)
  const isFailure =
    classification.category !== 'permanent' ||
    retryStatusCodes?.has(response.status) === true ||
    retry.matchesRetryOn?.(error, classification) === true
  return { error, fails: isFailure }
}

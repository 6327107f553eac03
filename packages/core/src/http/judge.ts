import type { RetryPolicy } from '../retry/options.js'
import type { Engine } from './engine.js'
import { type Answer, StatusError } from './status-error.js'

/** What an answer is judged by. */
export interface Judgement {
  readonly engine: Engine
  readonly retry: RetryPolicy
  readonly listed: ReadonlySet<number> | undefined
  readonly context: { readonly method: string; readonly origin: string }
}

/**
 * The error that stands for an answer of 400 or more. To the engine it is a failure unless it is permanent, for then the
 * other side is well and has said its word; `fails` tells.
 */
export function asFailure<R extends Answer>(
  response: R,
  { engine, retry, listed, context }: Judgement,
): { error: StatusError<R>; fails: boolean } {
  const { method, origin } = context
  const error = new StatusError<R>(`${method} ${origin} answered ${response.status}`, response)
  const known = engine.classify(error)
  const fails =
    known.category !== 'permanent' ||
    listed?.has(response.status) === true ||
    retry.wanted?.(error, known) === true
  return { error, fails }
}

import type { CallTimeouts } from '../execution/hooks.js'
import type { GuardEvent } from '../guard/events.js'
import { type GuardSettings, parseTimeouts, type TimeoutOptions } from '../guard/options.js'
import { type OptionProblem, throwIfInvalid } from '../options.js'
import type { FetchRetryOptions } from '../retry/options.js'
import { attachSession } from '../session/session.js'
import type { FetchBody } from './body.js'
import { FetchExecution, type FetchRuntime, hasTimeout } from './fetch-execution.js'
import { type FetchOptions, mergeRequestPolicy, parseFetchOptions } from './options.js'
import { RequestExecutor } from './request-executor.js'
import { toRetryPolicy } from './retry-policy.js'
import type { FetchInput } from './target.js'

/** The `init` of one request: that of fetch, and options that change the retries of this request. */
export interface FetchInit extends Omit<RequestInit, 'body'> {
  /** The body, or a function that creates one for each attempt. */
  body?: FetchBody | undefined
  /** Overrides retry options for this request. False: one attempt. */
  retry?: FetchRetryOptions | false | undefined
  /**
   * Overrides timeouts for this request; one that is absent keeps its value, Infinity removes it. False: no timeouts. A value
   * that is not an object, false included, is passed to the fetch function, which can have a `timeout` of its own.
   */
  timeout?: TimeoutOptions | false | undefined
  /** Additional context for events, the fallback, the breaker's key and the pool, such as `{ session, region }`. */
  context?: object | undefined
  /** Required by fetch when the body is a stream. */
  duplex?: 'half' | undefined
}

/** A `fetch` with retries and the other strategies of a guard: same arguments, same responses. */
export interface ResilientFetch {
  /** Sends a request, and retries it when a retry can succeed and is safe. */
  (input: FetchInput, init?: FetchInit): Promise<Response>
  /** Calls `listener` at the events of all requests. Returns a function that unsubscribes it. */
  on(listener: (event: GuardEvent) => void): () => void
}

/**
 * Creates a `fetch` with retries, breaker, deadlines and a pool, for any library that accepts one. Idempotent methods are
 * retried after transient statuses, lost connections and timeouts; POST and PATCH only with an Idempotency-Key, with
 * `retryNonIdempotent`, or when the request was provably not sent. The last response is returned whatever its status,
 * unless `throwOnStatus` is set. Deadlines end when the response is returned; they do not limit the reading of its body.
 *
 * @throws INVALID_OPTIONS that lists all problems of the options
 *
 * @example
 * ```ts
 * import { createFetch } from 'holdfast/http'
 *
 * const statuses = [503, 200]
 * const resilient = createFetch({
 *   fetch: async () => new Response('hello', { status: statuses.shift() ?? 500 }), // in place of the global fetch
 *   retry: { maxAttempts: 3, backoffType: 'immediate' },
 *   breaker: { failureThreshold: 5 },
 * })
 * const response = await resilient('https://api.example/greeting')
 * response.status // => 200
 * await response.text() // => 'hello'
 * ```
 */
export function createFetch(options: FetchOptions = {}): ResilientFetch {
  const { guard, policy: basePolicy, fetch, throwOnStatus } = parseFetchOptions(options)
  const returnedErrors = new WeakSet<object>()
  const { fallback } = guard
  const executor = new RequestExecutor({
    ...guard,
    fallback:
      fallback &&
      ((error, info) => (returnedErrors.has(Object(error)) ? Promise.reject(error) : fallback(error, info))),
  })
  const context: FetchRuntime = { executor, fetch, throwOnStatus, returnedErrors }
  const defaultRetry = toRetryPolicy(basePolicy)

  const resilientFetch = async (input: FetchInput, init?: FetchInit): Promise<Response> => {
    const { retry: retryOptions } = init ?? NO_INIT
    const policy = retryOptions === undefined ? basePolicy : mergeRequestPolicy(retryOptions, basePolicy)
    const retry = policy === basePolicy ? defaultRetry : toRetryPolicy(policy)
    const timeouts = parseRequestTimeouts(init, guard)
    const execution = new FetchExecution(context, policy, retry, timeouts, input, init ?? NO_INIT)
    const { isHedgeable, send } = execution
    try {
      const { value, session } = guard.enabled
        ? await executor
            .createExecution<Response, never>(execution, send, retry, isHedgeable, timeouts)
            .startWithSession()
        : await executor.executeUnguarded<Response, never>(send)
      attachSession(value, session, executor, false)
      return execution.finish(value)
    } catch (error) {
      return execution.fail(error)
    }
  }
  return Object.assign(resilientFetch, {
    on: (listener: (event: GuardEvent) => void) => executor.on(listener),
  })
}

const NO_INIT: FetchInit = {}

/** The timeouts of one request, where its init replaces those of the guard. @throws INVALID_OPTIONS */
function parseRequestTimeouts(init: FetchInit | undefined, guard: GuardSettings): CallTimeouts | undefined {
  if (!hasTimeout(init)) return undefined
  const problems: OptionProblem[] = []
  const timeouts = parseTimeouts(init.timeout, guard, problems)
  throwIfInvalid('the request', problems)
  return timeouts
}

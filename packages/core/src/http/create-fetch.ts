import type { GuardEvent } from '../guard/events.js'
import type { FetchRetryOptions } from '../retry/options.js'
import type { FetchBody } from './body.js'
import { FetchExecution, type FetchRuntime } from './fetch-execution.js'
import { type FetchOptions, mergeRequestPolicy, parseFetchOptions } from './options.js'
import { RequestExecutor } from './request-executor.js'
import { toRetryPolicy } from './retry-policy.js'
import type { FetchInput } from './target.js'

/** What one request may be given: all that fetch takes, and what changes the retrying of this one. */
export interface FetchInit extends Omit<RequestInit, 'body'> {
  /** The body, or a function that makes one for each attempt. */
  body?: FetchBody | undefined
  /** Changes the retrying for this request; what it leaves out stays. False: one attempt. */
  retry?: FetchRetryOptions | false | undefined
  /** Added to what events, the fallback, the breaker's key and the pool are told: `{ session, region }`. */
  context?: object | undefined
  /** What fetch asks for where the body is a stream. */
  duplex?: 'half' | undefined
}

/** A `fetch` that keeps requests alive: same arguments, same answers. */
export interface ResilientFetch {
  /** Sends a request, and sends it again where that can help and does no harm. */
  (input: FetchInput, init?: FetchInit): Promise<Response>
  /** Tells `listener` what happens to all its requests, until the function it returns is called. */
  on(listener: (event: GuardEvent) => void): () => void
}

/**
 * Makes a `fetch` with retries, breaker, deadlines and a pool, for everything that takes one. Idempotent methods are sent
 * again after transient statuses, lost connections and timeouts; POST and PATCH only with an Idempotency-Key, with
 * `retryNonIdempotent`, or where the request provably never left. The last answer is returned whatever its status,
 * unless `throwOnStatus` is set. Deadlines end when the answer is handed over: reading the body is the caller's.
 *
 * @throws INVALID_OPTIONS that lists everything wrong with the options
 *
 * @example
 * ```ts
 * import { createFetch } from 'holdfast/http'
 *
 * const answers = [503, 200]
 * const resilient = createFetch({
 *   fetch: async () => new Response('hello', { status: answers.shift() ?? 500 }), // where the global fetch would be
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
    const execution = new FetchExecution(context, policy, retry, input, init ?? NO_INIT)
    const { signal, isHedgeable, send } = execution
    try {
      const response = guard.enabled
        ? await executor.createCall<Response, never>(execution, send, retry, isHedgeable, signal).start()
        : await executor.runUnguarded<Promise<Response>, never>(send)
      return execution.finish(response)
    } catch (error) {
      return execution.fail(error)
    }
  }
  return Object.assign(resilientFetch, {
    on: (listener: (event: GuardEvent) => void) => executor.on(listener),
  })
}

const NO_INIT: FetchInit = {}

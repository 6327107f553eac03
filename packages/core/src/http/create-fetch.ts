import type { GuardEvent } from '../guard/events.js'
import type { FetchRetryOptions } from '../retry/options.js'
import type { FetchBody } from './body.js'
import { Engine } from './engine.js'
import { Exchange, type Sender } from './exchange.js'
import { type FetchOptions, policyFor, readFetch } from './options.js'
import { enginePolicy } from './policy.js'
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
  const { guard, policy: base, fetch, throwOnStatus } = readFetch(options)
  const silent = new WeakSet<object>()
  const { fallback } = guard
  const engine = new Engine({
    ...guard,
    fallback:
      fallback &&
      ((error, info) => (silent.has(Object(error)) ? Promise.reject(error) : fallback(error, info))),
  })
  const sender: Sender = { engine, fetch, throwOnStatus, silent }
  const standard = enginePolicy(base)

  const resilient = async (input: FetchInput, init?: FetchInit): Promise<Response> => {
    const { retry: given } = init ?? NOTHING
    const policy = given === undefined ? base : policyFor(given, base)
    const retry = policy === base ? standard : enginePolicy(policy)
    const exchange = new Exchange(sender, policy, retry, input, init ?? NOTHING)
    const { signal, twice, send } = exchange
    try {
      const answer = guard.enabled
        ? await engine.call<Response, never>(exchange, send, retry, twice, signal).start()
        : await engine.straight<Promise<Response>, never>(send)
      return exchange.finish(answer)
    } catch (error) {
      return exchange.fail(error)
    }
  }
  return Object.assign(resilient, { on: (listener: (event: GuardEvent) => void) => engine.on(listener) })
}

const NOTHING: FetchInit = {}

import type { GuardEvent } from '../guard/events.js'
import { type FetchOptions, parseRequestOptions } from '../http/options.js'
import { RequestExecutor } from '../http/request-executor.js'
import { toRetryPolicy } from '../http/retry-policy.js'
import type { Dispatch } from './dispatch.js'
import { DispatchedRequest } from './dispatched-request.js'
import { toDispatchHandler } from './legacy-handler.js'

/** What {@link resilience} takes: what a resilient fetch takes, but for what makes no sense below one. */
export type ResilienceOptions = Omit<FetchOptions, 'fetch' | 'throwOnStatus' | 'fallback'>

/** An interceptor of undici's. */
export interface ResilienceInterceptor {
  /** Makes a dispatch that keeps requests alive of one that does not. */
  <D extends (options: never, handler: never) => boolean>(dispatch: D): D
  /** Tells `listener` what happens to all its requests, until the function it returns is called. */
  on(listener: (event: GuardEvent) => void): () => void
}

const UNSUPPORTED_FETCH_OPTIONS = ['fetch', 'throwOnStatus', 'fallback'] as const

/**
 * Makes an interceptor for undici that does for every request of a dispatcher what a resilient fetch does for its own: for
 * `agent.compose(resilience(options))`, and with `setGlobalDispatcher` for code that cannot be changed. A request is
 * sent again only until an answer is chosen; from then on it is the caller's, byte for byte. A body that is a stream
 * is not sent again once it was read; what a fetch makes a stream of (a string, a form) is kept meanwhile, up to 1 MiB.
 * Upgrades and CONNECT pass through.
 *
 * @throws INVALID_OPTIONS that lists everything wrong with the options
 *
 * @example
 * ```ts
 * import { Agent, request } from 'undici'
 * import { resilience } from 'holdfast/undici'
 * import { createServer } from 'node:http'
 *
 * const answers = [503, 200]
 * const server = createServer((_, response) => response.writeHead(answers.shift() ?? 500).end('hello'))
 * await new Promise<void>((resolve) => server.listen(0, resolve))
 * const { port } = server.address() as { port: number }
 *
 * const dispatcher = new Agent().compose(resilience({ retry: { backoffType: 'immediate' } }))
 * const { statusCode, body } = await request(`http://localhost:${port}`, { dispatcher })
 * statusCode // => 200
 * await body.text() // => 'hello'
 * await dispatcher.close()
 * server.close()
 * ```
 */
export function resilience(options: ResilienceOptions = {}): ResilienceInterceptor {
  const problems: string[] = []
  const { name } = Object(options) as ResilienceOptions
  const rest = { ...options } as Record<string, unknown>
  for (const option of UNSUPPORTED_FETCH_OPTIONS) {
    if (option in rest) problems.push(`${option}: is for a fetch, not for an interceptor`)
    delete rest[option]
  }
  const subject = typeof name === 'string' ? `the interceptor ${name}` : 'an interceptor'
  const isObject = Object(options) === options && !Array.isArray(options)
  const { guard, policy } = parseRequestOptions(subject, isObject ? rest : options, problems)
  const context = { executor: new RequestExecutor(guard), policy, retry: toRetryPolicy(policy) }

  const intercept =
    (dispatch: Dispatch): Dispatch =>
    (request, handler) =>
      guard.enabled && !request.upgrade && request.method !== 'CONNECT'
        ? new DispatchedRequest(context, dispatch, request, toDispatchHandler(handler)).start()
        : dispatch(request, handler)
  return Object.assign(intercept as ResilienceInterceptor, {
    on: (listener: (event: GuardEvent) => void) => context.executor.on(listener),
  })
}

import type { GuardEvent } from '../guard/events.js'
import { HostedRunner, type RequestHost } from '../http/hosted.js'
import { type FetchOptions, mergeRequestPolicy, parseRequestOptions } from '../http/options.js'
import { RequestExecutor } from '../http/request-executor.js'
import { toRetryPolicy } from '../http/retry-policy.js'
import { createProblem, formatValue, type OptionProblem } from '../options.js'
import type { FetchRetryOptions } from '../retry/options.js'
import type { Dispatch } from './dispatch.js'
import { DispatchedRequest, type InterceptorContext } from './dispatched-request.js'
import { toDispatchHandler } from './legacy-handler.js'

/** Options of {@link resilience}: those of a resilient fetch, except for those that do not apply to an interceptor. */
export type ResilienceOptions = Omit<FetchOptions, 'fetch' | 'throwOnStatus' | 'fallback'>

/** An interceptor for undici. */
export interface ResilienceInterceptor {
  /** Wraps a dispatch function with retries and the other strategies. */
  <D extends (options: never, handler: never) => boolean>(dispatch: D): D
  /** Calls `listener` at the events of all requests. Returns a function that unsubscribes it. */
  on(listener: (event: GuardEvent) => void): () => void
}

const UNSUPPORTED_FETCH_OPTIONS = ['fetch', 'throwOnStatus', 'fallback'] as const

/**
 * Creates an interceptor for undici that does for every request of a dispatcher what a resilient fetch does:
 * `agent.compose(resilience(options))`, or with `setGlobalDispatcher` for code that cannot be changed. A request is retried
 * only until a response is chosen, which is then forwarded unchanged. A stream as body is not sent again once it was read,
 * but a body that fetch converts to a stream (a string, a form) is buffered up to 1 MiB. Upgrades and CONNECT are not
 * intercepted.
 *
 * @throws INVALID_OPTIONS that lists all problems of the options
 *
 * @example
 * ```ts
 * import { Agent, request } from 'undici'
 * import { resilience } from 'holdfast/undici'
 * import { createServer } from 'node:http'
 *
 * const statuses = [503, 200]
 * const server = createServer((_, response) => response.writeHead(statuses.shift() ?? 500).end('hello'))
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
  const problems: OptionProblem[] = []
  const { name } = Object(options) as ResilienceOptions
  const rest = { ...options } as Record<string, unknown>
  for (const option of UNSUPPORTED_FETCH_OPTIONS) {
    if (option in rest)
      problems.push(
        createProblem(
          option,
          'unknown',
          `no ${option} for an interceptor, only for createFetch`,
          formatValue(rest[option]),
        ),
      )
    delete rest[option]
  }
  const subject = typeof name === 'string' ? `the interceptor ${name}` : 'an interceptor'
  const isObject = Object(options) === options && !Array.isArray(options)
  const { guard, policy } = parseRequestOptions(subject, isObject ? rest : options, problems)
  const context = { executor: new RequestExecutor(guard), policy, retry: toRetryPolicy(policy) }

  const intercept = interceptWith(() => (guard.enabled ? context : undefined))
  return Object.assign(intercept as ResilienceInterceptor, {
    on: (listener: (event: GuardEvent) => void) => context.executor.on(listener),
  })
}

/** Intercepts the requests for which `contextFor` returns a context. Upgrades and CONNECT are not intercepted. */
const interceptWith =
  (contextFor: () => InterceptorContext | undefined) =>
  (dispatch: Dispatch): Dispatch =>
  (request, handler) => {
    const isIntercepted = !request.upgrade && request.method !== 'CONNECT'
    const context = isIntercepted ? contextFor() : undefined
    return context === undefined
      ? dispatch(request, handler)
      : new DispatchedRequest(context, dispatch, request, toDispatchHandler(handler)).start()
  }

/**
 * Creates an interceptor whose requests `host` runs.
 *
 * @internal
 */
export function createHostedInterceptor(
  host: RequestHost,
  retryOptions: FetchRetryOptions | false | undefined,
): <D extends (options: never, handler: never) => boolean>(dispatch: D) => D {
  const overrides = { retry: retryOptions, timeout: undefined, fallback: undefined }
  return interceptWith(() => {
    const operation = host.operation()
    const policy =
      retryOptions === undefined ? operation.policy : mergeRequestPolicy(retryOptions, operation.policy)
    const run: RequestHost['run'] = (call) => host.run(call)
    const executor = new HostedRunner(run, operation, overrides, new AbortController())
    return { executor, policy, retry: toRetryPolicy(policy) }
  }) as ResilienceInterceptor
}

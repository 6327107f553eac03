import { type Attempt, stopRetrying } from 'holdfast'
import { type AttemptContext, createFetchContext } from 'holdfast/internal'
import type { CallGuard } from '../guard.js'
import { attemptSignal, callSignal } from './cancel.js'
import { type AxiosAdapterOptions, parseAxiosOptions } from './options.js'
import { discardReply, hasReplyOf, restoreConfig } from './reply.js'
import { createRepeatableRequest } from './request.js'
import type { AxiosConfig, AxiosLibrary, AxiosReply } from './types.js'

/**
 * Creates an adapter for axios that sends each request as a call of `guard`. Each attempt is one request; interceptors and
 * transformations of the instance run once. A status that `validateStatus` rejects, a lost connection and a timeout are
 * failures, which the guard classifies. Idempotent methods are retried; POST and PATCH only with an Idempotency-Key, with
 * `retryNonIdempotent`, or when the request was provably not sent. A body that is a stream is never sent again.
 *
 * @throws INVALID_OPTIONS that lists all problems of the options
 *
 * @example
 * ```ts
 * import axios from 'axios'
 * import { guard, sessionOf } from 'holdfast'
 * import { createAxiosAdapter } from '@holdfast/adapters/axios'
 *
 * const api = guard({ name: 'api', retry: { backoffType: 'immediate' }, breaker: { failureThreshold: 5 } })
 * const client = axios.create({ adapter: createAxiosAdapter(axios, api) })
 *
 * const error = await client.get('http://127.0.0.1:1/orders').catch((thrown) => thrown)
 * error.code // => 'ECONNREFUSED'
 * sessionOf(error)?.attempts.length // => 3
 * ```
 */
export function createAxiosAdapter<C extends AxiosConfig, R extends AxiosReply>(
  axios: AxiosLibrary<C, R>,
  guard: CallGuard<R>,
  options: AxiosAdapterOptions<C> = {},
): (config: C) => Promise<R> {
  const settings = parseAxiosOptions(options, axios.defaults.adapter)
  return async (config) => {
    const uri = axios.getUri(config as never)
    const request = createRepeatableRequest(config, settings, uri)
    const send = axios.getAdapter(settings.adapter as never, config as never)
    const { signal, release } = callSignal(config)
    let running: Promise<R> | undefined
    /** The errors of the current attempt: several if it was hedged. */
    let failures: unknown[] = []
    let isEnded = false
    let result: unknown
    /** Closes the responses that the caller does not get. */
    const discardReplies = () => {
      for (const failed of failures) if (!hasReplyOf(failed, result)) discardReply(failed)
      failures = []
    }

    const sendOnce = async (attempt: Attempt): Promise<R> => {
      try {
        return restoreConfig(await send(attemptConfig(config, attempt.signal)), config)
      } catch (error) {
        failures.push(error)
        // An abort, a fallback or another hedged attempt ended the call.
        if (isEnded) discardReplies()
        throw request.canRepeatAfter(error) ? error : stopRetrying(error)
      } finally {
        running = undefined
      }
    }
    const runAttempt = (attempt: Attempt): Promise<R> => {
      ;(attempt as AttemptContext).isFinal = !request.isRepeatSafe
      discardReplies()
      // A hedge of a request that must not arrive twice waits for the first.
      if (running !== undefined && !request.isRepeatSafe) return running
      running = sendOnce(attempt)
      return running
    }

    try {
      const reply = await guard.run(runAttempt, {
        context: createFetchContext(request.method, uri),
        signal,
        ...settings.callOptions?.(config),
      })
      result = reply
      return reply
    } catch (error) {
      result = error
      throw restoreConfig(error, config)
    } finally {
      release()
      isEnded = true
      discardReplies()
    }
  }
}

/** The config of one attempt. Adapters change the headers, so each attempt has its own. */
const attemptConfig = <C extends AxiosConfig>(config: C, signal: AbortSignal): C => ({
  ...config,
  headers: config.headers.concat(),
  signal: attemptSignal(config, signal),
})

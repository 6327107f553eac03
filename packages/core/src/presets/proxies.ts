import { classify } from '../classify/index.js'
import { deepFreeze, type Preset } from './preset.js'

const RETRIED_STATUSES = [502, 503, 504]

/** Whether an error is retried: with a response by its status, without one if it is transient. */
function isRetryableError(error: unknown): boolean {
  const { httpStatus, category } = classify(error)
  return httpStatus === undefined ? category === 'transient' : RETRIED_STATUSES.includes(httpStatus)
}

/**
 * Requests through proxies: 3 attempts with delays of 1 s and 2 s, maximum 30 s, no jitter; the statuses 502, 503 and 504 and
 * lost connections are retried. It has no breaker, because each proxy of a pool has its own. The defaults of a pool fit this
 * preset: 5 failures in 60 s open the breaker of a proxy for 30 s.
 *
 * @example
 * ```ts
 * import { guard } from 'holdfast'
 * import { proxies } from 'holdfast/presets'
 *
 * const web = guard(proxies)
 * await web.run(async () => 'page') // => 'page'
 * ```
 */
export const proxies: Preset = deepFreeze({
  name: 'proxies',
  retry: {
    maxAttempts: 3,
    backoffType: 'exponential',
    baseDelay: 1000,
    multiplier: 2,
    maxDelay: 30_000,
    jitterType: 'none',
    retryOn: [isRetryableError],
  },
})

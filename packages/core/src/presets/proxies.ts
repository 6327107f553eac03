import { classify } from '../classify/index.js'
import { deepFreeze, type Preset } from './preset.js'

const RETRIED_STATUSES = [502, 503, 504]

/** Of answers those with a status of the list; of errors without an answer those that may pass. */
function isRetryableError(error: unknown): boolean {
  const { httpStatus, category } = classify(error)
  return httpStatus === undefined ? category === 'transient' : RETRIED_STATUSES.includes(httpStatus)
}

/**
 * Requests through proxies: 3 attempts, 1 s and 2 s between them, cap 30 s, no jitter; the statuses 502, 503 and 504 and
 * lost connections are retried. It has no breaker, because each proxy has its own in a pool, whose defaults are the
 * figures that go with these: 5 failures in 60 s open it, for 30 s.
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

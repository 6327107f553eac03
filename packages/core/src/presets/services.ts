import type { BreakerOptions } from '../breaker/options.js'
import type { RetryOptions } from '../retry/options.js'
import { deepFreeze, type ServicePreset } from './preset.js'

const SERVICE_RETRY: RetryOptions = {
  maxAttempts: 3,
  backoffType: 'exponential',
  baseDelay: 1000,
  multiplier: 2,
  maxDelay: 10_000,
  jitterType: 'additive',
  jitterMin: 0,
  jitterMax: 2000,
  respectRetryAfter: true,
}

/** Opens for 60 s after 5 consecutive failures, closes after 2 successes. */
export const SERVICE_BREAKER: BreakerOptions = {
  failureThreshold: 5,
  successThreshold: 2,
  windowType: 'consecutive',
  timeoutDuration: 60_000,
}

/**
 * Gmail: 3 attempts, delays from 1 s to 10 s including up to 2 s of jitter, 30 s per attempt; timeouts, lost connections and
 * transient HTTP errors are retried. The breaker opens for 60 s after 5 consecutive failures and closes after 2 successes.
 *
 * @example
 * ```ts
 * import { guard } from 'holdfast'
 * import { gmail } from 'holdfast/presets'
 *
 * const mail = guard({ ...gmail, retry: { ...gmail.retry, maxAttempts: 5 } })
 * await mail.run(async () => 'sent') // => 'sent'
 * ```
 */
export const gmail: ServicePreset = deepFreeze({
  name: 'gmail',
  retry: {
    ...SERVICE_RETRY,
    retryOn: ['socket.timeout', 'ConnectionError', 'HttpError'],
    notProcessedStatuses: [429],
  },
  breaker: { ...SERVICE_BREAKER },
  timeout: { attempt: 30_000 },
})

/**
 * Gemini: like {@link gmail}, but 60 s per attempt; rate limits, timeouts and lost connections are retried.
 *
 * @example
 * ```ts
 * import { guard } from 'holdfast'
 * import { gemini } from 'holdfast/presets'
 *
 * await guard(gemini).run(async () => 'extracted') // => 'extracted'
 * ```
 */
export const gemini: ServicePreset = deepFreeze({
  name: 'gemini',
  retry: {
    ...SERVICE_RETRY,
    retryOn: ['ResourceExhausted', 'DeadlineExceeded', 'ConnectionError'],
    notProcessedStatuses: [429, 503, 529],
  },
  breaker: { ...SERVICE_BREAKER },
  timeout: { attempt: 60_000 },
})

/**
 * Notion: like {@link gmail}, but only transient HTTP errors are retried.
 *
 * @example
 * ```ts
 * import { guard } from 'holdfast'
 * import { notion } from 'holdfast/presets'
 *
 * await guard(notion).run(async () => 'written') // => 'written'
 * ```
 */
export const notion: ServicePreset = deepFreeze({
  name: 'notion',
  retry: { ...SERVICE_RETRY, retryOn: ['APIResponseError'], notProcessedStatuses: [429, 529] },
  breaker: { ...SERVICE_BREAKER },
  timeout: { attempt: 30_000 },
})

/**
 * Infisical, for applications with another source of secrets as fallback: 2 attempts, delays up to 5 s including up to 1 s of
 * jitter, 10 s per attempt, Retry-After is ignored; timeouts and lost connections are retried. The breaker opens for 30 s
 * after 3 consecutive failures and closes after 2 successes.
 *
 * @example
 * ```ts
 * import { guard } from 'holdfast'
 * import { infisical } from 'holdfast/presets'
 *
 * const secrets = guard({ ...infisical, fallback: () => 'from the environment' })
 * await secrets.run(async () => Promise.reject(new TypeError('no such secret'))) // => 'from the environment'
 * ```
 */
export const infisical: ServicePreset = deepFreeze({
  name: 'infisical',
  retry: {
    ...SERVICE_RETRY,
    maxAttempts: 2,
    maxDelay: 5000,
    jitterMax: 1000,
    respectRetryAfter: false,
    retryOn: ['socket.timeout', 'ConnectionError'],
  },
  breaker: { ...SERVICE_BREAKER, failureThreshold: 3, timeoutDuration: 30_000 },
  timeout: { attempt: 10_000 },
})

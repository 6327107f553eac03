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

/** Five failures in a row, a minute's rest, two good answers. */
export const SERVICE_BREAKER: BreakerOptions = {
  failureThreshold: 5,
  successThreshold: 2,
  windowType: 'consecutive',
  timeoutDuration: 60_000,
}

/**
 * Gmail: 3 attempts, waits from 1 s to 10 s with up to 2 s of jitter in them, 30 s an attempt; timeouts, lost
 * connections and HTTP errors that may pass are retried. Its breaker opens after 5 failures in a row, for 60 s, and
 * closes after 2 successes.
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
 * Gemini: as {@link gmail}, but 60 s an attempt; rate limits, timeouts and lost connections are retried.
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
 * Notion: as {@link gmail}, but HTTP errors that may pass, and nothing else, are retried.
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
 * Infisical, where another source of secrets stands ready: 2 attempts, waits up to 5 s with up to 1 s of jitter in them,
 * 10 s an attempt, Retry-After not looked at; timeouts and lost connections are retried. Its breaker opens after 3
 * failures in a row, for 30 s, and closes after 2 successes.
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

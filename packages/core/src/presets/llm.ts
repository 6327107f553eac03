import { classify } from '../classify/index.js'
import type { FetchRetryOptions } from '../retry/options.js'
import { deepFreeze, type ServicePreset } from './preset.js'
import { SERVICE_BREAKER } from './services.js'

/** Both services answer 409 where a lock was not had in time, and their own clients retry it. */
const isLockTimeout = (error: unknown): boolean => classify(error).httpStatus === 409

/** Both reject what they will not process with these: too many requests, no capacity, overloaded. */
const NOT_PROCESSED = [429, 503, 529]

const LLM_RETRY: FetchRetryOptions = {
  maxAttempts: 4,
  backoffType: 'exponential',
  baseDelay: 500,
  multiplier: 2,
  maxDelay: 8000,
  jitterType: 'full',
  jitterAmount: 0.25,
  respectRetryAfter: true,
  maxRetryAfter: 60_000,
  retryOn: ['transient', isLockTimeout],
}

/**
 * OpenAI: 4 attempts, waits from 500 ms to 8 s, up to a quarter less by chance, Retry-After up to 60 s, 10 minutes an
 * attempt. Rate limits, 408, 409, 5xx, timeouts and lost connections are retried; a quota that is used up is not. Its
 * breaker opens after 5 failures in a row, for 60 s, and closes after 2 successes. Switch off the client's own retries.
 *
 * @example
 * ```ts
 * import { guard } from 'holdfast'
 * import { openai } from 'holdfast/presets'
 *
 * await guard(openai).run(async () => 'an answer') // => 'an answer'
 * ```
 */
export const openai: ServicePreset = deepFreeze({
  name: 'openai',
  retry: {
    ...LLM_RETRY,
    retryOn: [...(LLM_RETRY.retryOn ?? [])],
    abortOn: ['insufficient_quota', 'billing_not_active', 'billing_hard_limit_reached'],
    notProcessedStatuses: [...NOT_PROCESSED],
  },
  breaker: { ...SERVICE_BREAKER },
  timeout: { attempt: 600_000 },
})

/**
 * Anthropic: as {@link openai}; 529, which says that the service is overloaded, is one of the 5xx.
 *
 * @example
 * ```ts
 * import { guard } from 'holdfast'
 * import { anthropic } from 'holdfast/presets'
 *
 * await guard(anthropic).run(async () => 'an answer') // => 'an answer'
 * ```
 */
export const anthropic: ServicePreset = deepFreeze({
  name: 'anthropic',
  retry: { ...LLM_RETRY, retryOn: [...(LLM_RETRY.retryOn ?? [])], notProcessedStatuses: [...NOT_PROCESSED] },
  breaker: { ...SERVICE_BREAKER },
  timeout: { attempt: 600_000 },
})

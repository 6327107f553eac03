import { classify } from '../classify/index.js'
import type { FetchRetryOptions } from '../retry/options.js'
import { deepFreeze, type ServicePreset } from './preset.js'
import { SERVICE_BREAKER } from './services.js'

/** Both services answer 409 when a lock could not be acquired in time, and their official clients retry it. */
const isLockTimeout = (error: unknown): boolean => classify(error).httpStatus === 409

/** The statuses with which both services reject a request before processing it: rate limit, no capacity, overloaded. */
const NOT_PROCESSED_STATUSES = [429, 503, 529]

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
 * OpenAI: 4 attempts, delays from 500 ms to 8 s, reduced by up to a quarter at random, Retry-After up to 60 s, 10 minutes per
 * attempt. Rate limits, 408, 409, 5xx, timeouts and lost connections are retried; an exhausted quota is not. The breaker
 * opens for 60 s after 5 consecutive failures and closes after 2 successes. Disable the retries of the client library.
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
    notProcessedStatuses: [...NOT_PROCESSED_STATUSES],
  },
  breaker: { ...SERVICE_BREAKER },
  timeout: { attempt: 600_000 },
})

/**
 * Anthropic: like {@link openai}. The 5xx statuses include 529, which means that the service is overloaded.
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
  retry: {
    ...LLM_RETRY,
    retryOn: [...(LLM_RETRY.retryOn ?? [])],
    notProcessedStatuses: [...NOT_PROCESSED_STATUSES],
  },
  breaker: { ...SERVICE_BREAKER },
  timeout: { attempt: 600_000 },
})

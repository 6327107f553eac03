import { DEFAULT_POLICY_ID } from '@holdfast/records/constants'
import type { PolicyEntry } from './schema.js'

/** The built-in policies. A policy of the file with the same id replaces a built-in one completely. */
export const BUILT_IN_POLICIES: { readonly [id: string]: PolicyEntry } = Object.freeze({
  [DEFAULT_POLICY_ID]: {
    name: 'Default',
    description: 'For operations that have no other policy.',
  },
  default_exponential_backoff: {
    name: 'Default exponential backoff',
    description: 'Three attempts with full jitter, for most calls over a network.',
    maxAttempts: 3,
    backoffType: 'exponential',
    baseDelay: 1000,
    maxDelay: 30_000,
    jitterType: 'full',
    jitterAmount: 1,
  },
  aggressive_retry: {
    name: 'Aggressive retry',
    description: 'Many quick attempts, for cheap interactive calls.',
    maxAttempts: 6,
    backoffType: 'exponential',
    baseDelay: 100,
    maxDelay: 5000,
    jitterType: 'full',
    jitterAmount: 1,
  },
  conservative_retry: {
    name: 'Conservative retry',
    description: 'One more attempt after a long delay, for expensive calls and overloaded targets.',
    maxAttempts: 2,
    backoffType: 'exponential',
    baseDelay: 5000,
    maxDelay: 60_000,
    jitterType: 'equal',
    jitterAmount: 1,
  },
  linear_backoff: {
    name: 'Linear backoff',
    description: 'Delays that grow linearly, for resources that are busy for a known time.',
    maxAttempts: 5,
    backoffType: 'linear',
    baseDelay: 1000,
    maxDelay: 10_000,
    jitterType: 'equal',
    jitterAmount: 1,
  },
  rate_limited: {
    name: 'Rate limited',
    description: 'Waits as long as the server requests with Retry-After, else with strong jitter.',
    maxAttempts: 5,
    backoffType: 'exponential',
    baseDelay: 2000,
    maxDelay: 60_000,
    jitterType: 'decorrelated',
    jitterAmount: 1,
    respectRetryAfter: true,
    maxRetryAfter: 300_000,
  },
})

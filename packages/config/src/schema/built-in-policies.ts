import type { PolicyEntry } from './schema.js'

/** The id of the policy that applies where no other does. */
export const DEFAULT_POLICY_ID = 'default'

/** Policies that are there unless a file has one of the same id; a file's replaces the whole of it. */
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
    description: 'Many quick attempts, for cheap calls that somebody waits for.',
    maxAttempts: 6,
    backoffType: 'exponential',
    baseDelay: 100,
    maxDelay: 5000,
    jitterType: 'full',
    jitterAmount: 1,
  },
  conservative_retry: {
    name: 'Conservative retry',
    description: 'One more attempt after a while, for costly calls and targets under strain.',
    maxAttempts: 2,
    backoffType: 'exponential',
    baseDelay: 5000,
    maxDelay: 60_000,
    jitterType: 'equal',
    jitterAmount: 1,
  },
  linear_backoff: {
    name: 'Linear backoff',
    description: 'Waits that grow evenly, for resources that are busy for a known while.',
    maxAttempts: 5,
    backoffType: 'linear',
    baseDelay: 1000,
    maxDelay: 10_000,
    jitterType: 'equal',
    jitterAmount: 1,
  },
  rate_limited: {
    name: 'Rate limited',
    description: 'Waits as long as the other side asks, and spreads callers far apart where it does not.',
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

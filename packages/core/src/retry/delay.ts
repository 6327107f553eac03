import type { Random } from '../clock.js'
import { backoff } from './backoff.js'
import type { RetryPolicy } from './options.js'

/** Waits stay finite even where no cap is given: this is some 285,000 years. */
const finite = (ms: number): number => Math.min(ms, Number.MAX_SAFE_INTEGER)

/**
 * The wait before retry `n` (1, 2, …): the backoff, capped so that jitter keeps its spread below `maxDelay`, then
 * spread by chance. Finite, never negative and never above `maxDelay`, for every `n`.
 *
 * @param previous - the wait before the last attempt as it was used, `baseDelay` before the first retry
 */
export function delayBefore(
  policy: RetryPolicy,
  n: number,
  previous: number,
  random: Random,
  error?: unknown,
): number {
  const { jitterAmount: a } = policy
  const cap = finite(policy.maxDelay)
  const wait = backoff(policy, n, error, previous)
  const d = Math.min(wait, cap)
  switch (policy.jitterType) {
    case 'none':
      return d
    case 'full':
      return d * (1 - a + a * random())
    case 'equal':
      return d * (1 - (a / 2) * (1 - random()))
    case 'decorrelated': {
      const base = finite(policy.baseDelay)
      const drawn = base + random() * Math.max(0, 3 * finite(previous) - base)
      return Math.min(cap, (1 - a) * d + a * drawn)
    }
    case 'proportional':
      return Math.min(cap, Math.min(wait, cap / (1 + a)) * (1 - a + 2 * a * random()))
    case 'additive': {
      const least = finite(policy.jitterMin)
      const most = finite(policy.jitterMax)
      return Math.min(cap, Math.max(0, Math.min(wait, cap - most)) + least + (most - least) * random())
    }
  }
}

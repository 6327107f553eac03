import type { Random } from '../clock.js'
import { milliseconds } from '../duration.js'
import { report } from '../report.js'
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

/** The wait before retry `n` (1, 2, …) before cap and jitter. It may be Infinity; it is never NaN or negative. */
export function backoff(policy: RetryPolicy, n: number, error: unknown, previous: number): number {
  const { backoffType, baseDelay } = policy
  if (baseDelay === 0 && typeof backoffType === 'string') return 0
  switch (backoffType) {
    case 'exponential':
      return baseDelay * policy.multiplier ** (n - 1)
    case 'linear':
      return baseDelay * n
    case 'fixed':
      return baseDelay
    case 'immediate':
      return 0
    case 'fibonacci':
      return baseDelay * fibonacci(n)
    default:
      return ask(backoffType, baseDelay, n, error, previous)
  }
}

/** 1, 2, 3, 5, 8 … */
function fibonacci(n: number): number {
  let [before, value] = [1, 1] as [number, number]
  for (let i = 1; i < n && value < Infinity; i++) [before, value] = [value, before + value]
  return value
}

function ask(
  fn: Exclude<RetryPolicy['backoffType'], string>,
  baseDelay: number,
  n: number,
  error: unknown,
  previous: number,
): number {
  try {
    const ms = milliseconds(fn(n, error, previous))
    return ms > 0 ? ms : 0
  } catch (thrown) {
    report('the backoff function', fn, thrown)
    return baseDelay
  }
}

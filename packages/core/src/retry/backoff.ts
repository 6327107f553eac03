import { milliseconds } from '../duration.js'
import { report } from '../report.js'
import type { RetryPolicy } from './options.js'

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

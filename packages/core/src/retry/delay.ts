import type { Random } from '../clock.js'
import { parseDuration } from '../duration.js'
import { reportOnce } from '../report.js'
import type { CompiledRetryPolicy } from './options.js'

/** Keeps delays finite where `maxDelay` is Infinity; the limit is about 285,000 years. */
const clampToFinite = (ms: number): number => Math.min(ms, 9e15)

/**
 * Returns the delay before retry `n` (1, 2, …): the backoff, capped so that the range of the jitter stays below `maxDelay`,
 * with jitter. The result is finite, never negative and never above `maxDelay`, for every `n`.
 *
 * @param previous - the delay before the last attempt, `baseDelay` before the first retry
 */
export function computeDelay(
  policy: CompiledRetryPolicy,
  n: number,
  previous: number,
  random: Random,
  error?: unknown,
): number {
  const { jitterAmount: amount } = policy
  const cap = clampToFinite(policy.maxDelay)
  const uncappedDelay = backoff(policy, n, error, previous)
  const cappedDelay = Math.min(uncappedDelay, cap)
  switch (policy.jitterType) {
    case 'none':
      return cappedDelay
    case 'full':
      return cappedDelay * (1 - amount + amount * random())
    case 'equal':
      return cappedDelay * (1 - (amount / 2) * (1 - random()))
    case 'decorrelated': {
      const base = clampToFinite(policy.baseDelay)
      const decorrelated = base + random() * Math.max(0, 3 * clampToFinite(previous) - base)
      return Math.min(cap, (1 - amount) * cappedDelay + amount * decorrelated)
    }
    case 'proportional':
      return Math.min(cap, Math.min(uncappedDelay, cap / (1 + amount)) * (1 - amount + 2 * amount * random()))
    case 'additive': {
      const minJitter = clampToFinite(policy.jitterMin)
      const maxJitter = clampToFinite(policy.jitterMax)
      return Math.min(
        cap,
        Math.max(0, Math.min(uncappedDelay, cap - maxJitter)) +
          minJitter +
          (maxJitter - minJitter) * random(),
      )
    }
  }
}

/** Returns the delay before retry `n` (1, 2, …) without cap and jitter. It can be Infinity; it is never NaN or negative. */
export function backoff(policy: CompiledRetryPolicy, n: number, error: unknown, previous: number): number {
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
      return callBackoff(backoffType, baseDelay, n, error, previous)
  }
}

/** 1, 2, 3, 5, 8 … */
function fibonacci(n: number): number {
  let [before, value] = [1, 1] as [number, number]
  for (let i = 1; i < n && value < Infinity; i++) [before, value] = [value, before + value]
  return value
}

function callBackoff(
  fn: Exclude<CompiledRetryPolicy['backoffType'], string>,
  baseDelay: number,
  n: number,
  error: unknown,
  previous: number,
): number {
  try {
    const ms = parseDuration(fn(n, error, previous))
    return ms > 0 ? ms : 0
  } catch (thrown) {
    reportOnce('the backoff function', fn, thrown)
    return baseDelay
  }
}

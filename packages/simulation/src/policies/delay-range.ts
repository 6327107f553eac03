import type { ContractPolicy } from './contract-policies.js'

/** The shortest and the longest delay that a policy permits before a retry. */
export interface DelayRange {
  readonly min: number
  readonly max: number
}

const FIBONACCI = [1, 2, 3, 5, 8, 13, 21] as const

/** The delay before retry `n` (1, 2, …) without jitter and without the limit. */
function backoffOf({ backoffType, baseDelay, multiplier }: ContractPolicy, n: number): number {
  switch (backoffType) {
    case 'exponential':
      return baseDelay * multiplier ** (n - 1)
    case 'linear':
      return baseDelay * n
    case 'fixed':
      return baseDelay
    case 'immediate':
      return 0
    case 'fibonacci':
      return baseDelay * (FIBONACCI[n - 1] ?? Number.NaN)
  }
}

/**
 * The delays that the documentation of the policy permits before retry `n`.
 *
 * @param previous - the delay before the last attempt
 */
export function delayRangeOf(policy: ContractPolicy, n: number, previous: number): DelayRange {
  const { maxDelay: cap, jitterType, jitterAmount: amount, jitterMin, jitterMax, baseDelay } = policy
  const uncapped = backoffOf(policy, n)
  const capped = Math.min(uncapped, cap)
  switch (jitterType) {
    case 'none':
      return { min: capped, max: capped }
    case 'full':
      return { min: capped * (1 - amount), max: capped }
    case 'equal':
      return { min: capped * (1 - amount / 2), max: capped }
    case 'decorrelated': {
      const last = n === 1 ? baseDelay : previous
      const fixed = (1 - amount) * capped
      return {
        min: Math.min(cap, fixed + amount * baseDelay),
        max: Math.min(cap, fixed + amount * Math.max(baseDelay, 3 * last)),
      }
    }
    case 'proportional': {
      const middle = Math.min(uncapped, cap / (1 + amount))
      return { min: middle * (1 - amount), max: middle * (1 + amount) }
    }
    case 'additive': {
      const low = Math.max(0, Math.min(uncapped, cap - jitterMax))
      return { min: Math.min(cap, low + jitterMin), max: Math.min(cap, low + jitterMax) }
    }
  }
}

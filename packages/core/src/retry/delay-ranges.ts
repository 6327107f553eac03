import { computeDelay } from './delay.js'
import type { CompiledRetryPolicy } from './options.js'

/** A delay in milliseconds: without jitter, and its range with jitter. */
export interface DelayRange {
  readonly base: number
  readonly min: number
  readonly max: number
}

/** The largest result of a random function, which is always below 1. */
const MAX_RANDOM = 1 - 2 ** -53

/** Computes the delays of a policy before its retries, without an end. */
export function* delayRanges(policy: CompiledRetryPolicy): Generator<DelayRange, never> {
  const withoutJitter = { ...policy, jitterType: 'none' as const }
  let [base, min, max] = [policy.baseDelay, policy.baseDelay, policy.baseDelay]
  for (let retry = 1; ; retry++) {
    base = computeDelay(withoutJitter, retry, base, () => 0)
    min = computeDelay(policy, retry, min, () => 0)
    max = computeDelay(policy, retry, max, () => MAX_RANDOM)
    yield { base, min, max }
  }
}

import type { CircuitBreaker } from 'holdfast'

/** How long a breaker would stay open if it opened now, and how often it would have opened then. */
export function nextOpenState({ consecutiveOpens, settings }: CircuitBreaker): number[] {
  const { timeoutDuration, timeoutMultiplier, maxTimeoutDuration } = settings
  return [
    Math.min(maxTimeoutDuration, timeoutDuration * timeoutMultiplier ** consecutiveOpens),
    consecutiveOpens + 1,
  ]
}

/** How a breaker is open, or would open now, and the failures behind it. */
export function currentOpenState(breaker: CircuitBreaker): number[] {
  return breaker.currentState === 'open'
    ? [breaker.openDuration, breaker.consecutiveOpens, breaker.failures]
    : [...nextOpenState(breaker), breaker.failures]
}

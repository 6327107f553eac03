import type { CircuitBreaker } from 'holdfast'

/** The open duration and the number of consecutive openings that a breaker would have if it opened now. */
export function nextOpenState({ consecutiveOpens, settings }: CircuitBreaker): number[] {
  const { timeoutDuration, timeoutMultiplier, maxTimeoutDuration } = settings
  return [
    Math.min(maxTimeoutDuration, timeoutDuration * timeoutMultiplier ** consecutiveOpens),
    consecutiveOpens + 1,
  ]
}

/** The open duration, consecutive openings and failures of an open breaker, or those that it would open with now. */
export function currentOpenState(breaker: CircuitBreaker): number[] {
  return breaker.currentState === 'open'
    ? [breaker.openDuration, breaker.consecutiveOpens, breaker.failures]
    : [...nextOpenState(breaker), breaker.failures]
}

import type { CircuitBreaker } from './breaker.js'
import type { BreakerSettings } from './options.js'

/** How long a test may hold its place, where its guard says `lease` or nothing. */
export const leaseOf = (
  { probeLease, timeoutDuration }: BreakerSettings,
  lease: number | undefined,
): number => probeLease ?? lease ?? timeoutDuration

/** Whether those elsewhere leave it to this breaker to test now. */
export function mayTest(breaker: CircuitBreaker, lease: number | undefined, now: number): boolean {
  const { link, settings, phase } = breaker
  if (link === undefined) return true
  const until = link.turn(leaseOf(settings, lease), now)
  if (until <= now) return true
  breaker.until = until
  // The places that are free here are taken elsewhere, for so long.
  if (phase === 'half_open')
    while ((breaker.probes ??= []).length < settings.halfOpenMax)
      breaker.probes.push({ epoch: -1, startedAt: now, leaseEnd: until })
  return false
}

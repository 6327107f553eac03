import type { CircuitBreaker } from './breaker.js'
import type { BreakerSettings } from './options.js'

/** How long a test may hold its place, where its guard says `lease` or nothing. */
export const probeLeaseFor = (
  { probeLease, timeoutDuration }: BreakerSettings,
  lease: number | undefined,
): number => probeLease ?? lease ?? timeoutDuration

/** Whether those elsewhere leave it to this breaker to test now. */
export function canProbe(breaker: CircuitBreaker, lease: number | undefined, now: number): boolean {
  const { coordinator, settings, currentState } = breaker
  if (coordinator === undefined) return true
  const allowedAt = coordinator.probeAllowedAt(probeLeaseFor(settings, lease), now)
  if (allowedAt <= now) return true
  breaker.openUntil = allowedAt
  // The places that are free here are taken elsewhere, for so long.
  if (currentState === 'half_open')
    while ((breaker.probePermits ??= []).length < settings.halfOpenMax)
      breaker.probePermits.push({ epoch: -1, startedAt: now, leaseEnd: allowedAt })
  return false
}

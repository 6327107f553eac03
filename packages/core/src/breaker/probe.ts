import type { CircuitBreaker } from './breaker.js'
import type { BreakerSettings } from './options.js'

/** How long a probe can hold its permit. `lease` is the guard's attempt timeout, where there is one. */
export const probeLeaseFor = (
  { probeLease, timeoutDuration }: BreakerSettings,
  lease: number | undefined,
): number => probeLease ?? lease ?? timeoutDuration

/** Whether the coordinator allows this node a probe now. */
export function canProbe(breaker: CircuitBreaker, lease: number | undefined, now: number): boolean {
  const { coordinator, settings, currentState } = breaker
  if (coordinator === undefined) return true
  const allowedAt = coordinator.probeAllowedAt(probeLeaseFor(settings, lease), now)
  if (allowedAt <= now) return true
  breaker.openUntil = allowedAt
  // Other nodes hold the free permits until then, so placeholders occupy them here.
  if (currentState === 'half_open')
    while ((breaker.probePermits ??= []).length < settings.halfOpenMax)
      breaker.probePermits.push({ epoch: -1, startedAt: now, leaseEnd: allowedAt })
  return false
}

import type { CircuitBreaker } from './breaker.js'
import type { RemoteBreakerState } from './coordinator.js'
import type { BreakerSettings } from './options.js'
import { OutcomeWindow } from './window.js'

/** Applies other settings to a breaker and keeps its state as far as they allow. */
export function applySettings(breaker: CircuitBreaker, settings: BreakerSettings): void {
  const { settings: previous, window } = breaker
  const now = previous.clock.now()
  breaker.settings = settings
  if (settings.adaptive !== previous.adaptive) breaker.recentOutcomes = settings.adaptive ? '' : undefined
  if (window !== undefined)
    breaker.window =
      settings.windowType === previous.windowType
        ? OutcomeWindow.fromEntries(
            settings,
            window.toEntries(now, (time) => time),
          )
        : undefined
  breaker.openDuration = Math.min(breaker.openDuration, maxOpenDuration(breaker))
  breaker.openUntil = Math.min(breaker.openUntil, now + breaker.openDuration)
}

/** Applies the state that other nodes report. */
export function applyRemoteState(breaker: CircuitBreaker, remote: RemoteBreakerState): void {
  const { clock, maxTimeoutDuration } = breaker.settings
  const { state, left, openFor, openings, failures, off, tripFor = 0 } = remote
  breaker.isDisabled = off
  if (off || state === 'closed') {
    breaker.transitionTo('closed')
    return
  }
  breaker.consecutiveOpens = openings
  breaker.tripDuration = tripFor > 0 ? tripFor : undefined
  breaker.openDuration = Math.min(openFor, breaker.tripDuration ?? maxTimeoutDuration)
  breaker.openUntil = clock.now() + Math.min(left, breaker.openDuration)
  breaker.failures = failures
  breaker.transitionTo('open')
}

/** The longest open time of a breaker: the duration for which it was tripped, else the one of its settings. */
export const maxOpenDuration = ({ tripDuration, settings, consecutiveOpens }: CircuitBreaker): number =>
  tripDuration ?? openDurationFor(settings, consecutiveOpens)

/** The open time of a breaker after that many consecutive openings. */
export function openDurationFor(settings: BreakerSettings, openings: number): number {
  const { timeoutDuration, timeoutMultiplier, maxTimeoutDuration } = settings
  return Math.min(maxTimeoutDuration, timeoutDuration * timeoutMultiplier ** Math.max(0, openings - 1))
}

import type { CircuitBreaker } from './breaker.js'
import type { BreakerNews } from './link.js'
import type { BreakerSettings } from './options.js'
import { Window } from './window.js'

/** Makes a breaker go by other settings, and leaves it where it stands as far as they allow. */
export function takeSettings(breaker: CircuitBreaker, settings: BreakerSettings): void {
  const { settings: old, window } = breaker
  const now = old.clock.now()
  breaker.settings = settings
  if (settings.adaptive !== old.adaptive) breaker.results = settings.adaptive ? '' : undefined
  if (window !== undefined)
    breaker.window =
      settings.windowType === old.windowType
        ? Window.of(
            settings,
            window.save(now, (time) => time),
          )
        : undefined
  breaker.openFor = Math.min(breaker.openFor, longestOpen(settings, breaker.openings))
  breaker.until = Math.min(breaker.until, now + breaker.openFor)
}

/** Takes a breaker where others say that it stands. */
export function followNews(breaker: CircuitBreaker, news: BreakerNews): void {
  const { clock, maxTimeoutDuration } = breaker.settings
  const { state, left, openFor, openings, failures, off } = news
  breaker.off = off
  if (off || state === 'closed') {
    breaker.enter('closed')
    return
  }
  breaker.openings = openings
  breaker.openFor = Math.min(openFor, maxTimeoutDuration)
  breaker.until = clock.now() + Math.min(left, breaker.openFor)
  breaker.failures = failures
  breaker.enter('open')
}

/** How long a breaker may stay open that has opened so often in a row. */
export function longestOpen(settings: BreakerSettings, openings: number): number {
  const { timeoutDuration, timeoutMultiplier, maxTimeoutDuration } = settings
  return Math.min(maxTimeoutDuration, timeoutDuration * timeoutMultiplier ** Math.max(0, openings - 1))
}

import { type Duration, parseDuration } from '../duration.js'
import { optionProblem, throwIfInvalid } from '../options.js'

/** The longest time for which a breaker can be tripped. */
const MAX_TRIP_MS = 31_536_000_000

/** How an operator trips a breaker. */
export interface TripOptions {
  /**
   * How long the breaker stays open; Infinity is until it is reset, at most 365 days. @defaultValue the open time of the
   * breaker's settings
   */
  duration?: Duration | undefined
}

/** The duration in milliseconds; undefined if there is none. @throws INVALID_OPTIONS */
export function parseTripDuration({ duration }: TripOptions = {}): number | undefined {
  if (duration === undefined) return undefined
  const ms = parseDuration(duration)
  if (!(ms > 0))
    throwIfInvalid('trip', [optionProblem('duration', 'a duration above 0, or Infinity', duration)])
  return Math.min(ms, MAX_TRIP_MS)
}

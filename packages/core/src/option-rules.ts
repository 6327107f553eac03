// Rules for the options of servers. A guard does not need them, so they are not in `options.ts`.

import { MAX_TIMER_MS } from './clock.js'
import { createDurationRule, type OptionRule } from './options.js'

/** A whole number from a minimum. */
export const integerFrom = (min: number): OptionRule => [
  `a whole number from ${min}`,
  (value: number) => Number.isSafeInteger(value) && value >= min,
]

/** A whole number between two bounds, which are included. */
// @__NO_SIDE_EFFECTS__
export function integerBetween(min: number, max: number): OptionRule {
  return [
    `a whole number from ${min} to ${max}`,
    (value: number) => Number.isSafeInteger(value) && value >= min && value <= max,
  ]
}

/** A port to listen on; 0 selects a free one. */
export const listenPort = integerBetween(0, 65_535)

/** A duration that a timer can wait for. */
export const timerDuration: OptionRule = createDurationRule(
  'above 0 and at most 2147483647 ms',
  (ms) => ms > 0 && ms <= MAX_TIMER_MS,
)

/** A string that is not empty. */
export const nonEmptyString: OptionRule = [
  'a string that is not empty',
  (value: unknown) => typeof value === 'string' && value !== '',
]

import {
  defaultsOf,
  nonNegativeInteger,
  nonNegativeNumber,
  type OptionProblem,
  type OptionRule,
  type OptionSpecOf,
  ofType,
  oneOf,
  optionProblem,
  parseOptions,
  throwIfInvalid,
} from '../options.js'
import type { CircuitBreaker } from './breaker.js'
import { WINDOW_TYPES, type WindowType } from './options.js'
import { openDurationFor } from './reconfigure.js'
import { BREAKER_STATES, type BreakerState } from './state.js'
import { OutcomeWindow } from './window.js'

/** The state of a breaker as plain data. Times are in epoch milliseconds, durations in milliseconds. */
export interface BreakerSnapshot {
  /** The id of the breaker. */
  id: string
  /** The state of the breaker. */
  state: BreakerState
  /** The number of failures in the window, or of those that opened the breaker. */
  failureCount: number
  /** The window type. A breaker that is restored with another type starts with an empty window. */
  windowType: WindowType
  /** The entries of the window, oldest first, with four numbers each: time, calls, failures, slow calls. */
  failureWindow: number[]
  /** The number of successful probes while half open. */
  successCount: number
  /** How often the breaker opened in a row, without staying closed for as long as it was open. */
  openedInARow: number
  /** The current or last open time. */
  openDuration: number
  /** The duration for which an operator tripped an open breaker; absent if the settings determine the open time. */
  tripDuration?: number | undefined
  /** Grows with each state change. */
  epoch: number
  /** When an open breaker allows the next probe. */
  nextTestTime?: number | undefined
  /** When the last counted failure happened. */
  lastFailureTime?: number | undefined
  /** When the state last changed. */
  lastStateChange?: number | undefined
  /** When the breaker closed after its last opening. */
  closedAt?: number | undefined
  /** The results that an adaptive threshold is computed from, oldest first: 1 for a success, 0 for a failure. */
  results?: string | undefined
  /** Whether the breaker is disabled and admits every call. */
  disabled?: boolean | undefined
}

/** Returns the state of a breaker as plain data. */
export function createSnapshot(breaker: CircuitBreaker): BreakerSnapshot {
  const { clock } = breaker.settings
  const now = clock.now()
  const wall = clock.wall()
  const toWall = (time: number) => wall - (now - time)
  return {
    id: breaker.id,
    state: breaker.state,
    failureCount: breaker.failureCount,
    windowType: breaker.settings.windowType,
    failureWindow: breaker.window?.toEntries(now, toWall) ?? [],
    successCount: breaker.probeSuccesses,
    openedInARow: breaker.consecutiveOpens,
    openDuration: breaker.openDuration,
    tripDuration: breaker.tripDuration,
    epoch: breaker.epoch,
    nextTestTime: breaker.nextTestTime,
    lastFailureTime: breaker.lastFailureTime,
    lastStateChange: breaker.lastStateChange,
    closedAt: breaker.closedAt > -Infinity ? toWall(breaker.closedAt) : undefined,
    results: breaker.recentOutcomes,
    disabled: breaker.disabled,
  }
}

const isTime = (value: unknown) => Number.isFinite(value)

const epochTime: OptionRule = ['a time in epoch milliseconds', isTime]

const SNAPSHOT_SPEC = {
  id: ['', ofType('string')],
  state: [undefined, oneOf(BREAKER_STATES)],
  failureCount: [0, nonNegativeInteger],
  windowType: [undefined, oneOf(WINDOW_TYPES)],
  failureWindow: [[], ['an array of numbers, four an entry', isWindowLog]],
  successCount: [0, nonNegativeInteger],
  openedInARow: [0, nonNegativeInteger],
  openDuration: [0, nonNegativeNumber],
  tripDuration: [undefined, nonNegativeNumber],
  epoch: [0, nonNegativeInteger],
  nextTestTime: [undefined, epochTime],
  lastFailureTime: [undefined, epochTime],
  lastStateChange: [undefined, epochTime],
  closedAt: [undefined, epochTime],
  results: [
    '',
    ['up to 200 of 0 and 1', (value: unknown) => typeof value === 'string' && /^[01]{0,200}$/.test(value)],
  ],
  disabled: [false, ofType('boolean')],
} satisfies OptionSpecOf<BreakerSnapshot>

function isWindowLog(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.length % 4 === 0 &&
    value.every((item, i) =>
      i % 4 === 0 ? isTime(item) && !(item < value[i - 4]) : nonNegativeInteger[1](item as never),
    )
  )
}

/** Checks a snapshot and fills in its defaults. @throws INVALID_OPTIONS that lists every problem */
export function parseSnapshot(input: BreakerSnapshot): Required<BreakerSnapshot> {
  const problems: OptionProblem[] = []
  // Fields that a later version added are ignored.
  const knownEntries = Object.entries(Object(input)).filter(([name]) => name in SNAPSHOT_SPEC)
  const fields = Object(input) === input ? Object.fromEntries(knownEntries) : input
  const snapshot = parseOptions(
    'snapshot',
    fields,
    defaultsOf(SNAPSHOT_SPEC) as Required<BreakerSnapshot>,
    SNAPSHOT_SPEC,
    problems,
  )
  const { state, nextTestTime } = snapshot
  if (state === undefined || (state === 'open' && nextTestTime === undefined))
    problems.push(optionProblem('snapshot', 'a state and, if it is open, a nextTestTime', input))
  throwIfInvalid('a circuit breaker', problems)
  return snapshot
}

/**
 * Applies a snapshot to a new breaker. The breaker never stays open for longer than its options allow, even where the clock was
 * set or the options have changed since the snapshot.
 */
export function restoreSnapshot(
  breaker: CircuitBreaker,
  snapshot: Required<BreakerSnapshot>,
): CircuitBreaker {
  const { state, closedAt, nextTestTime, failureWindow, openedInARow } = snapshot
  const { settings } = breaker
  const { clock, windowType, adaptive } = settings
  const { tripDuration } = snapshot
  const maxDuration = tripDuration ?? openDurationFor(settings, openedInARow)
  const now = clock.now()
  const wall = clock.wall()
  const toMonotonic = (time: number) => now - Math.max(0, wall - time)
  breaker.epoch = snapshot.epoch
  breaker.lastFailureTime = snapshot.lastFailureTime
  breaker.lastStateChange = snapshot.lastStateChange
  breaker.consecutiveOpens = openedInARow
  breaker.openDuration = Math.min(
    snapshot.openDuration || (state === 'closed' ? 0 : maxDuration),
    maxDuration,
  )
  if (closedAt !== undefined) breaker.closedAt = toMonotonic(closedAt)
  if (adaptive) breaker.recentOutcomes = snapshot.results
  breaker.isDisabled = snapshot.disabled === true
  if (state !== 'closed' && !breaker.isDisabled) {
    breaker.currentState = 'open'
    breaker.tripDuration = state === 'open' ? tripDuration : undefined
    breaker.failures = snapshot.failureCount
    breaker.probeSuccesses = snapshot.successCount
    breaker.openUntil =
      now + (state === 'open' ? Math.min(breaker.openDuration, (nextTestTime as number) - wall) : 0)
  } else if (snapshot.windowType === windowType && failureWindow.length > 0) {
    breaker.window = OutcomeWindow.fromEntries(
      settings,
      failureWindow.map((value, i) => (i % 4 === 0 ? toMonotonic(value) : value)),
    )
  }
  return breaker
}

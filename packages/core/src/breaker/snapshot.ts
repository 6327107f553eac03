import {
  natural,
  oneOf,
  positive,
  type Rule,
  read,
  refuse,
  type SpecOf,
  show,
  standards,
  typed,
} from '../options.js'
import type { CircuitBreaker } from './breaker.js'
import { longestOpen } from './change.js'
import type { WindowType } from './options.js'
import type { BreakerState } from './state.js'
import { Window } from './window.js'

/** Everything a breaker must remember, as plain data. Times are epoch milliseconds, durations milliseconds. */
export interface BreakerSnapshot {
  id: string
  state: BreakerState
  /** The failures in its window, or those that opened it. */
  failureCount: number
  /** What kind of window it has; a breaker of another kind begins with an empty one. */
  windowType: WindowType
  /** What its window holds, oldest first, four numbers an entry: time, calls, failures, slow calls. */
  failureWindow: number[]
  /** Successful tests while half open. */
  successCount: number
  /** How often it has opened without a long enough rest between. */
  openedInARow: number
  /** How long it last stays or stayed open. */
  openDuration: number
  /** Counts its changes of state. */
  epoch: number
  nextTestTime?: number | undefined
  lastFailureTime?: number | undefined
  lastStateChange?: number | undefined
  /** When it closed after its last opening. */
  closedAt?: number | undefined
  /** The results behind an adaptive threshold, oldest first: 1 a success, 0 a failure. */
  results?: string | undefined
  disabled?: boolean | undefined
}

/** A breaker's state as plain data. */
export function snapshotOf(breaker: CircuitBreaker): BreakerSnapshot {
  const { clock } = breaker.settings
  const now = clock.now()
  const wall = clock.wall()
  const toWall = (time: number) => wall - (now - time)
  return {
    id: breaker.id,
    state: breaker.state,
    failureCount: breaker.failureCount,
    windowType: breaker.settings.windowType,
    failureWindow: breaker.window?.save(now, toWall) ?? [],
    successCount: breaker.successes,
    openedInARow: breaker.openings,
    openDuration: breaker.openFor,
    epoch: breaker.epoch,
    nextTestTime: breaker.nextTestTime,
    lastFailureTime: breaker.lastFailureTime,
    lastStateChange: breaker.lastStateChange,
    closedAt: breaker.closedAt > Number.NEGATIVE_INFINITY ? toWall(breaker.closedAt) : undefined,
    results: breaker.results,
    disabled: breaker.disabled,
  }
}

const isTime = (value: unknown) => Number.isFinite(value)

const time: Rule = ['a time in epoch milliseconds', isTime]

const SPEC = {
  id: ['', typed('string')],
  state: [undefined, oneOf('closed', 'open', 'half_open')],
  failureCount: [0, natural],
  windowType: [undefined, oneOf('rolling', 'consecutive', 'rate')],
  failureWindow: [[], ['an array of numbers, four an entry', isWindow]],
  successCount: [0, natural],
  openedInARow: [0, natural],
  openDuration: [0, positive],
  epoch: [0, natural],
  nextTestTime: [undefined, time],
  lastFailureTime: [undefined, time],
  lastStateChange: [undefined, time],
  closedAt: [undefined, time],
  results: [
    '',
    ['up to 200 of 0 and 1', (value: unknown) => typeof value === 'string' && /^[01]{0,200}$/.test(value)],
  ],
  disabled: [false, typed('boolean')],
} satisfies SpecOf<BreakerSnapshot>

function isWindow(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.length % 4 === 0 &&
    value.every((item, i) =>
      i % 4 === 0 ? isTime(item) && !(item < value[i - 4]) : natural[1](item as never),
    )
  )
}

/** A snapshot with every field, or INVALID_OPTIONS that lists everything wrong with it. */
export function readSnapshot(given: BreakerSnapshot): Required<BreakerSnapshot> {
  const problems: string[] = []
  // What a later version has written besides is left aside.
  const known = Object.entries(Object(given)).filter(([name]) => name in SPEC)
  const fields = Object(given) === given ? Object.fromEntries(known) : given
  const snapshot = read('snapshot', fields, standards(SPEC) as Required<BreakerSnapshot>, SPEC, problems)
  const { state, nextTestTime } = snapshot
  if (state === undefined || (state === 'open' && nextTestTime === undefined))
    problems.push(`snapshot: got ${show(given)}, takes one with state and, if that is open, nextTestTime`)
  refuse('a circuit breaker', problems)
  return snapshot
}

/**
 * Puts a new breaker where the snapshot's was. Neither a clock that was set meanwhile nor options that have changed make
 * it stay open for longer than its options say.
 */
export function restoreInto(breaker: CircuitBreaker, snapshot: Required<BreakerSnapshot>): CircuitBreaker {
  const { state, closedAt, nextTestTime, failureWindow, openedInARow } = snapshot
  const { settings } = breaker
  const { clock, windowType, adaptive } = settings
  const most = longestOpen(settings, openedInARow)
  const now = clock.now()
  const wall = clock.wall()
  const toMonotonic = (time: number) => now - Math.max(0, wall - time)
  breaker.epoch = snapshot.epoch
  breaker.lastFailureTime = snapshot.lastFailureTime
  breaker.lastStateChange = snapshot.lastStateChange
  breaker.openings = openedInARow
  breaker.openFor = Math.min(snapshot.openDuration || (state === 'closed' ? 0 : most), most)
  if (closedAt !== undefined) breaker.closedAt = toMonotonic(closedAt)
  if (adaptive) breaker.results = snapshot.results
  breaker.off = snapshot.disabled === true
  if (state !== 'closed' && !breaker.off) {
    breaker.phase = 'open'
    breaker.failures = snapshot.failureCount
    breaker.successes = snapshot.successCount
    breaker.until = now + (state === 'open' ? Math.min(breaker.openFor, (nextTestTime as number) - wall) : 0)
  } else if (snapshot.windowType === windowType && failureWindow.length > 0) {
    breaker.window = Window.of(
      settings,
      failureWindow.map((value, i) => (i % 4 === 0 ? toMonotonic(value) : value)),
    )
  }
  return breaker
}

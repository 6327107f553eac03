import { refuse, show } from '../options.js'
import type { BreakerState, CircuitBreaker } from './breaker.js'
import type { WindowType } from './options.js'
import { Window } from './window.js'

/** Everything a breaker must remember, as plain data. Times are epoch milliseconds, durations milliseconds. */
export interface BreakerSnapshot {
  id: string
  state: BreakerState
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
    results: breaker.reliability?.save(),
    disabled: breaker.disabled,
  }
}

const isTime = (value: unknown) => Number.isFinite(value)
const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0

type Check = [takes: string, fits: (value: unknown) => boolean, fields: string, optional?: boolean]

const CHECKS: Check[] = [
  ['a string', (value) => typeof value === 'string', 'id'],
  ["'closed', 'open' or 'half_open'", (value) => /^(closed|(half_)?open)$/.test(value as string), 'state'],
  ["'rolling', 'consecutive' or 'rate'", (value) => /^(rolling|consecutive|rate)$/.test(value as string), 'windowType'],
  ['a whole number from 0', isCount, 'failureCount successCount openedInARow epoch'],
  ['a number from 0', (value) => isTime(value) && (value as number) >= 0, 'openDuration'],
  ['an array of numbers, four an entry', isWindow, 'failureWindow'],
  ['a time', isTime, 'nextTestTime lastFailureTime lastStateChange closedAt', true],
  ['at most 200 of 0 and 1', (value) => /^[01]{0,200}$/.test(value as string), 'results', true],
  ['a boolean', (value) => typeof value === 'boolean', 'disabled', true],
]

function isWindow(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.length % 4 === 0 &&
    value.every((item, i) => (i % 4 === 0 ? isTime(item) && !(item < value[i - 4]) : isCount(item)))
  )
}

/** Puts a new breaker where the snapshot's was. A clock that was set meanwhile never makes it stay open for longer. */
export function restoreInto(breaker: CircuitBreaker, snapshot: BreakerSnapshot): CircuitBreaker {
  const given = Object(snapshot) as Record<string, unknown>
  const problems = CHECKS.flatMap(([takes, fits, fields, optional]) =>
    fields
      .split(' ')
      .filter((name) => !(optional && given[name] === undefined) && !fits(given[name]))
      .map((name) => `snapshot.${name}: got ${show(given[name])}, takes ${takes}`),
  )
  refuse('a circuit breaker cannot be restored', problems)
  const { settings, reliability } = breaker
  const { clock, timeoutDuration, maxTimeoutDuration } = settings
  const { state, closedAt, nextTestTime } = snapshot
  const log = snapshot.windowType === settings.windowType ? snapshot.failureWindow : []
  const now = clock.now()
  const wall = clock.wall()
  const toMonotonic = (time: number) => now - Math.max(0, wall - time)
  breaker.epoch = snapshot.epoch
  breaker.lastFailureTime = snapshot.lastFailureTime
  breaker.lastStateChange = snapshot.lastStateChange
  breaker.openings = snapshot.openedInARow
  breaker.openFor = Math.min(snapshot.openDuration || timeoutDuration, maxTimeoutDuration)
  if (closedAt !== undefined) breaker.closedAt = toMonotonic(closedAt)
  for (const result of snapshot.results ?? '') reliability?.add(result === '1')
  breaker.off = snapshot.disabled === true
  if (state === 'closed') {
    if (log.length > 0) breaker.window = new Window(settings)
    for (let i = 0; i < log.length; i += 4)
      breaker.window?.load(toMonotonic(log[i] as number), log[i + 1] as number, log[i + 2] as number, log[i + 3] as number)
  } else {
    breaker.phase = 'open'
    breaker.failures = snapshot.failureCount
    breaker.successes = snapshot.successCount
    const left = state === 'open' ? Math.max(0, (nextTestTime ?? wall) - wall) : 0
    breaker.until = now + Math.min(breaker.openFor, left)
  }
  return breaker
}

import { type CompiledMatcher, type Matcher, matcherProblems } from '../classify/index.js'
import { type Clock, systemClock } from '../clock.js'
import type { Duration } from '../duration.js'
import {
  atLeastOne,
  clockOption,
  defaultsOf,
  type OptionSpecOf,
  ofType,
  oneOf,
  parseOptions,
  positiveDuration,
  positiveFraction,
  positiveInteger,
  requireAtLeast,
  throwIfInvalid,
} from '../options.js'
import { compileMatcherList, matcherList } from '../retry/options.js'

/** How a closed breaker counts. */
export type WindowType = 'rolling' | 'consecutive' | 'rate'

/** When a breaker opens, how long it stays open and what closes it again. */
export interface BreakerOptions {
  /** How many failures in the window open it. @defaultValue 5 */
  failureThreshold?: number | undefined
  /**
   * `rolling` counts the failures of the last `windowDuration`, `consecutive` those since the last success, `positiveFraction` the
   * share of calls in the last `windowDuration` that failed or were slow. @defaultValue 'rolling'
   */
  windowType?: WindowType | undefined
  /** How far back a rolling or rate window looks. @defaultValue 60000 */
  windowDuration?: Duration | undefined
  /** The share of failed calls, above 0 and up to 1, that opens it; means `windowType: 'rate'`, which takes 0.5. */
  failureRate?: number | undefined
  /** How many calls a rate window must hold before it is judged. @defaultValue 10 */
  minimumCalls?: number | undefined
  /** A call that takes at least this long is slow; goes with `slowCallRate`. */
  slowCallDuration?: Duration | undefined
  /** The share of slow calls that opens it; means `windowType: 'rate'`; goes with `slowCallDuration`. */
  slowCallRate?: number | undefined
  /** How long it stays open before a call may test it. @defaultValue 30000 */
  timeoutDuration?: Duration | undefined
  /** The factor by which the open time grows with each opening in a row. @defaultValue 1 */
  timeoutMultiplier?: number | undefined
  /** The longest open time that growth may reach; at least `timeoutDuration`. @defaultValue a year */
  maxTimeoutDuration?: Duration | undefined
  /** How many successful tests close it. @defaultValue 1 */
  successThreshold?: number | undefined
  /** How many tests may be in flight at a time. @defaultValue 1 */
  halfOpenMax?: number | undefined
  /** How long a test may hold its place. @defaultValue the attempt's timeout, else `timeoutDuration` */
  probeLease?: Duration | undefined
  /** Lowers the threshold of a target that has long been unreliable. @defaultValue false */
  adaptive?: boolean | undefined
  /** Errors that count. Absent: transient and critical ones but rate limits. */
  failureOn?: readonly Matcher[] | undefined
}

/** Options of a breaker of its own. */
export interface CircuitBreakerOptions extends BreakerOptions {
  /** What it is called in events and errors. @defaultValue '' */
  id?: string | undefined
  /** Where it takes its time from. @defaultValue the machine's clock */
  clock?: Clock | undefined
}

/** {@link BreakerOptions} checked and filled in. Breakers with the same options share one. */
export interface BreakerSettings {
  readonly failureThreshold: number
  readonly windowType: WindowType
  readonly windowDuration: number
  readonly failureRate: number | undefined
  readonly minimumCalls: number
  readonly slowCallDuration: number | undefined
  readonly slowCallRate: number | undefined
  readonly timeoutDuration: number
  readonly timeoutMultiplier: number
  readonly maxTimeoutDuration: number
  readonly successThreshold: number
  readonly halfOpenMax: number
  readonly probeLease: number | undefined
  readonly adaptive: boolean
  readonly failureOn: readonly Matcher[] | undefined
  readonly matchesFailureOn?: CompiledMatcher | undefined
  readonly id: string
  readonly clock: Clock
}

const BREAKER_SPEC = {
  failureThreshold: [5, positiveInteger],
  windowType: ['rolling', oneOf('rolling', 'consecutive', 'rate')],
  windowDuration: [60_000, positiveDuration],
  failureRate: [undefined, positiveFraction],
  minimumCalls: [10, positiveInteger],
  slowCallDuration: [undefined, positiveDuration],
  slowCallRate: [undefined, positiveFraction],
  timeoutDuration: [30_000, positiveDuration],
  timeoutMultiplier: [1, atLeastOne],
  maxTimeoutDuration: [365 * 86_400_000, positiveDuration],
  successThreshold: [1, positiveInteger],
  halfOpenMax: [1, positiveInteger],
  probeLease: [undefined, positiveDuration],
  adaptive: [false, ofType('boolean')],
  failureOn: [undefined, matcherList],
  clock: [systemClock, clockOption],
  id: ['', ofType('string')],
} satisfies OptionSpecOf<BreakerOptions & { clock: Clock; id: string }>

/** The defaults of {@link BreakerOptions}. */
export const BREAKER_DEFAULTS = defaultsOf(BREAKER_SPEC) as BreakerSettings

/** Checks breaker options over settings that fill in what they leave out; `path` is where they stand. */
export function parseBreakerOptions(
  path: string,
  input: object,
  defaults: BreakerSettings,
  problems: string[],
): BreakerSettings {
  const settings = parseOptions(path, input, defaults, BREAKER_SPEC, problems)
  const { failureRate, slowCallRate, slowCallDuration, timeoutDuration, maxTimeoutDuration, failureOn } =
    settings
  const prefix = path && `${path}.`
  if ((slowCallRate === undefined) !== (slowCallDuration === undefined))
    problems.push(
      `${prefix}slowCallRate: expected together with slowCallDuration, got ${slowCallRate === undefined ? 'slowCallDuration' : 'slowCallRate'} alone`,
    )
  requireAtLeast(
    `${prefix}maxTimeoutDuration`,
    maxTimeoutDuration,
    'timeoutDuration',
    timeoutDuration,
    problems,
  )
  problems.push(...matcherProblems(`${prefix}failureOn`, failureOn ?? []))
  const isRateWindow = failureRate !== undefined || slowCallRate !== undefined
  const windowType = isRateWindow ? 'rate' : settings.windowType
  return Object.freeze({
    ...settings,
    windowType,
    failureRate: windowType === 'rate' && !isRateWindow ? 0.5 : failureRate,
    matchesFailureOn: problems.length === 0 ? compileMatcherList(failureOn, 'failureOn') : undefined,
  })
}

/** Settings from options, or INVALID_OPTIONS that lists everything wrong with them. */
export function createBreakerSettings(input: object): BreakerSettings {
  // Thousands of breakers with the default options share them, and are made without reading any.
  if (
    input &&
    Object.keys(input).every((name) => name === 'id') &&
    typeof (input as { id?: unknown }).id === 'string'
  )
    return BREAKER_DEFAULTS
  const problems: string[] = []
  const settings = parseBreakerOptions('', input, BREAKER_DEFAULTS, problems)
  throwIfInvalid('a circuit breaker', problems)
  return settings
}

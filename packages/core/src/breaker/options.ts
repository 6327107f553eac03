import { type CompiledMatcher, type Matcher, matcherProblems } from '../classify/index.js'
import { type Clock, systemClock } from '../clock.js'
import type { Duration } from '../duration.js'
import {
  atLeastOne,
  clockOption,
  createProblem,
  defaultsOf,
  type OptionProblem,
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

/** How a closed breaker counts results. */
export type WindowType = 'rolling' | 'consecutive' | 'rate'

/** Every {@link WindowType}. */
export const WINDOW_TYPES = ['rolling', 'consecutive', 'rate'] as const satisfies readonly WindowType[]

/** When a breaker opens, how long it stays open and what closes it again. */
export interface BreakerOptions {
  /** How many failures in the window open the breaker. @defaultValue 5 */
  failureThreshold?: number | undefined
  /**
   * `rolling` counts the failures of the last `windowDuration`, `consecutive` those since the last success, `rate` the fraction
   * of calls in the last `windowDuration` that failed or were slow. @defaultValue 'rolling'
   */
  windowType?: WindowType | undefined
  /** The duration of a rolling or rate window. @defaultValue 60000 */
  windowDuration?: Duration | undefined
  /** The fraction of failed calls, above 0 and up to 1, that opens the breaker. Implies `windowType: 'rate'`. @defaultValue 0.5 in a rate window */
  failureRate?: number | undefined
  /** The minimum number of calls in a rate window; with fewer the breaker does not open. @defaultValue 10 */
  minimumCalls?: number | undefined
  /** A call that takes at least this long is slow. Requires `slowCallRate`. */
  slowCallDuration?: Duration | undefined
  /** The fraction of slow calls that opens the breaker. Implies `windowType: 'rate'` and requires `slowCallDuration`. */
  slowCallRate?: number | undefined
  /** How long the breaker stays open before a probe is admitted. @defaultValue 30000 */
  timeoutDuration?: Duration | undefined
  /** The factor by which the open time grows with each consecutive opening. @defaultValue 1 */
  timeoutMultiplier?: number | undefined
  /** The maximum open time; at least `timeoutDuration`. @defaultValue a year */
  maxTimeoutDuration?: Duration | undefined
  /** How many successful probes close the breaker. @defaultValue 1 */
  successThreshold?: number | undefined
  /** How many probes can run at the same time. @defaultValue 1 */
  halfOpenMax?: number | undefined
  /** How long a probe can hold its permit. @defaultValue the attempt timeout, else `timeoutDuration` */
  probeLease?: Duration | undefined
  /** Lowers the threshold for a target that has failed often in its last 200 calls. @defaultValue false */
  adaptive?: boolean | undefined
  /** Errors that count as failures. Absent: transient and critical errors, except rate limits. */
  failureOn?: readonly Matcher[] | undefined
}

/** Options of a {@link CircuitBreaker}. */
export interface CircuitBreakerOptions extends BreakerOptions {
  /** The breaker's name in events and errors. @defaultValue '' */
  id?: string | undefined
  /** The clock. @defaultValue the system clock */
  clock?: Clock | undefined
}

/** {@link BreakerOptions}, checked and with defaults. Breakers with the same options share one object. */
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
  windowType: ['rolling', oneOf(WINDOW_TYPES)],
  windowDuration: [60_000, positiveDuration],
  failureRate: [undefined, positiveFraction],
  minimumCalls: [10, positiveInteger],
  slowCallDuration: [undefined, positiveDuration],
  slowCallRate: [undefined, positiveFraction],
  timeoutDuration: [30_000, positiveDuration],
  timeoutMultiplier: [1, atLeastOne],
  maxTimeoutDuration: [31_536_000_000, positiveDuration],
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

/** Checks breaker options; `defaults` fill in options that are left out. `path` is the prefix of names in problems. */
export function parseBreakerOptions(
  path: string,
  input: object,
  defaults: BreakerSettings,
  problems: OptionProblem[],
): BreakerSettings {
  const settings = parseOptions(path, input, defaults, BREAKER_SPEC, problems)
  const { failureRate, slowCallRate, slowCallDuration, timeoutDuration, maxTimeoutDuration, failureOn } =
    settings
  const prefix = path && `${path}.`
  if ((slowCallRate === undefined) !== (slowCallDuration === undefined))
    problems.push(
      createProblem(
        `${prefix}slowCallRate`,
        'conflict',
        'both slowCallRate and slowCallDuration',
        `${slowCallRate === undefined ? 'slowCallDuration' : 'slowCallRate'} alone`,
      ),
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

/** Creates settings from options. @throws INVALID_OPTIONS that lists every problem */
export function createBreakerSettings(input: object): BreakerSettings {
  // Breakers with only an id share the default settings, so that thousands of them are created without checking options.
  if (
    input &&
    Object.keys(input).every((name) => name === 'id') &&
    typeof (input as { id?: unknown }).id === 'string'
  )
    return BREAKER_DEFAULTS
  const problems: OptionProblem[] = []
  const settings = parseBreakerOptions('', input, BREAKER_DEFAULTS, problems)
  throwIfInvalid('a circuit breaker', problems)
  return settings
}

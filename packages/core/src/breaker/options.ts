import type { Matcher } from '../classify/index.js'
import { matcherProblems } from '../classify/index.js'
import { type Clock, systemClock } from '../clock.js'
import type { Duration } from '../duration.js'
import { number, oneOf, type Rule, read, refuse, share, span, type, whole, withMethods } from '../options.js'
import { compile, type Match, matchers } from '../retry/options.js'

/** How a closed breaker counts. */
export type WindowType = 'rolling' | 'consecutive' | 'rate'

/** When a breaker opens, how long it stays open and what closes it again. */
export interface BreakerOptions {
  /** How many failures in the window open it. @defaultValue 5 */
  failureThreshold?: number
  /**
   * `rolling` counts the failures of the last `windowDuration`, `consecutive` those since the last success, `rate` the
   * share of calls in the last `windowDuration` that failed or were slow. @defaultValue 'rolling'
   */
  windowType?: WindowType
  /** How far back a rolling or rate window looks. @defaultValue 60000 */
  windowDuration?: Duration
  /** The share of failed calls, above 0 and up to 1, that opens it; means `windowType: 'rate'`, which takes 0.5. */
  failureRate?: number
  /** How many calls a rate window must hold before it is judged. @defaultValue 10 */
  minimumCalls?: number
  /** A call that takes at least this long is slow; goes with `slowCallRate`. */
  slowCallDuration?: Duration
  /** The share of slow calls that opens it; means `windowType: 'rate'`; goes with `slowCallDuration`. */
  slowCallRate?: number
  /** How long it stays open before a call may test it. @defaultValue 30000 */
  timeoutDuration?: Duration
  /** The factor by which the open time grows with each opening in a row. @defaultValue 1 */
  timeoutMultiplier?: number
  /** The longest open time that growth may reach; at least `timeoutDuration`. @defaultValue a year */
  maxTimeoutDuration?: Duration
  /** How many successful tests close it. @defaultValue 1 */
  successThreshold?: number
  /** How many tests may be in flight at a time. @defaultValue 1 */
  halfOpenMax?: number
  /** How long a test may hold its place. @defaultValue the attempt's timeout, else `timeoutDuration` */
  probeLease?: Duration
  /** Lowers the threshold of a target that has long been unreliable. @defaultValue false */
  adaptive?: boolean
  /** Errors that count. Absent: transient and critical ones but rate limits. */
  failureOn?: readonly Matcher[]
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
  readonly counted: Match | undefined
  readonly clock: Clock
}

const YEAR = 365 * 86_400_000

/** The defaults of {@link BreakerOptions}. */
export const BREAKER_DEFAULTS: BreakerSettings = Object.freeze({
  failureThreshold: 5,
  windowType: 'rolling',
  windowDuration: 60_000,
  failureRate: undefined,
  minimumCalls: 10,
  slowCallDuration: undefined,
  slowCallRate: undefined,
  timeoutDuration: 30_000,
  timeoutMultiplier: 1,
  maxTimeoutDuration: YEAR,
  successThreshold: 1,
  halfOpenMax: 1,
  probeLease: undefined,
  adaptive: false,
  failureOn: undefined,
  counted: undefined,
  clock: systemClock,
})

const RULES: { readonly [name: string]: Rule } = {
  failureThreshold: whole(1),
  windowType: oneOf('rolling', 'consecutive', 'rate'),
  windowDuration: span,
  failureRate: share,
  minimumCalls: whole(1),
  slowCallDuration: span,
  slowCallRate: share,
  timeoutDuration: span,
  timeoutMultiplier: number(1, Number.POSITIVE_INFINITY),
  maxTimeoutDuration: span,
  successThreshold: whole(1),
  halfOpenMax: whole(1),
  probeLease: span,
  adaptive: type('boolean'),
  failureOn: matchers,
} satisfies { readonly [K in keyof Required<BreakerOptions>]: Rule }

/** A clock of the user's. */
export const clockRule: Rule = withMethods(
  'a Clock with now, wall, setTimer and clearTimer',
  ...['now', 'wall', 'setTimer', 'clearTimer'],
)

/** Checks breaker options; `extra` are rules of options that the caller reads itself. */
export function readBreaker(
  path: string,
  given: object,
  base: BreakerSettings,
  problems: string[],
  extra: { readonly [name: string]: Rule } = {},
): BreakerSettings {
  const at = (name: string) => (path === '' ? name : `${path}.${name}`)
  const settings = read(path, given, base, { ...RULES, clock: clockRule, ...extra }, problems)
  const { failureRate, slowCallRate, slowCallDuration, timeoutDuration, maxTimeoutDuration, failureOn } =
    settings
  if ((slowCallRate === undefined) !== (slowCallDuration === undefined)) {
    const missing = slowCallRate === undefined ? 'slowCallRate' : 'slowCallDuration'
    problems.push(
      `${at(missing)}: got undefined, takes a value: slowCallDuration and slowCallRate go together`,
    )
  }
  if (maxTimeoutDuration < timeoutDuration)
    problems.push(
      `${at('maxTimeoutDuration')}: got ${maxTimeoutDuration}, takes at least timeoutDuration, which is ${timeoutDuration}`,
    )
  if (failureOn !== undefined) problems.push(...matcherProblems(at('failureOn'), failureOn))
  if (problems.length > 0) return base
  const rated = failureRate !== undefined || slowCallRate !== undefined
  const windowType = rated ? 'rate' : settings.windowType
  return Object.freeze({
    ...settings,
    windowType,
    failureRate: windowType === 'rate' && !rated ? 0.5 : failureRate,
    counted: compile(failureOn, 'failureOn'),
  })
}

const OWN = { id: type('string') }

/** Settings from options, or INVALID_OPTIONS that lists everything wrong with them. */
export function settingsOf(given: object): BreakerSettings {
  if (hasOnlyId(given)) return BREAKER_DEFAULTS
  const problems: string[] = []
  const settings = readBreaker('', given, BREAKER_DEFAULTS, problems, OWN)
  refuse('a circuit breaker cannot be made with these options', problems)
  return settings
}

/** Thousands of breakers with the default options share their settings, and are made without reading any. */
function hasOnlyId(given: object): boolean {
  for (const name in given) if (name !== 'id') return false
  return typeof (given as { id?: unknown }).id === 'string'
}

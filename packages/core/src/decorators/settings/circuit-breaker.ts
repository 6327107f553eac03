import { BREAKER_DEFAULTS, type BreakerOptions, parseBreakerOptions } from '../../breaker/options.js'
import { classify, compileMatchers, type Matcher, matcherProblems } from '../../classify/index.js'
import type { Duration } from '../../duration.js'
import {
  createProblem,
  type OptionProblem,
  type OptionSpec,
  parseOptions,
  positiveDuration,
  positiveFraction,
  positiveInteger,
} from '../../options.js'
import { matcherList } from '../../retry/options.js'

/**
 * When the breaker of a method opens and closes. It has the settings and defaults of MicroProfile, and all options of a
 * breaker. Without `failureThreshold` it opens by the failure rate.
 */
export interface CircuitBreakerSettings extends BreakerOptions {
  /** The minimum number of calls in the window before the breaker can open; `minimumCalls`. @defaultValue 20 */
  requestVolumeThreshold?: number | undefined
  /** The fraction of failed calls, above 0 and up to 1, that opens the breaker; `failureRate`. @defaultValue 0.5 */
  failureRatio?: number | undefined
  /** How long the breaker stays open before it admits a probe; `timeoutDuration`. @defaultValue 5000 */
  delay?: Duration | undefined
  /** Errors that count as failures; `failureOn`. Absent: transient and critical ones, except for rate limits. */
  failOn?: readonly Matcher[] | undefined
  /** Errors that never count as failures; takes precedence over `failOn`. */
  skipOn?: readonly Matcher[] | undefined
}

const MICROPROFILE_SPEC = {
  requestVolumeThreshold: [20, positiveInteger],
  failureRatio: [0.5, positiveFraction],
  delay: [5000, positiveDuration],
  failOn: [undefined, matcherList],
  skipOn: [undefined, matcherList],
} satisfies OptionSpec

const OPTION_ALIASES = {
  requestVolumeThreshold: 'minimumCalls',
  failureRatio: 'failureRate',
  delay: 'timeoutDuration',
  failOn: 'failureOn',
} as const

const { id: _, clock: __, ...BREAKER_OPTIONS } = BREAKER_DEFAULTS

/** The names of all settings. */
export const BREAKER_SETTING_NAMES: readonly string[] = [
  ...Object.keys(MICROPROFILE_SPEC),
  ...Object.keys(BREAKER_OPTIONS),
]

/** Valid values of the options that some options require; an override of one option is validated together with them. */
const REQUIRED_TOGETHER: { readonly [name: string]: BreakerOptions } = {
  slowCallRate: { slowCallDuration: 1 },
  slowCallDuration: { slowCallRate: 1 },
  maxTimeoutDuration: { timeoutDuration: 1 },
}

/** The problems of the settings of a breaker. */
export function breakerProblems(input: object, path: string): OptionProblem[] {
  const problems: OptionProblem[] = []
  const [microprofile, breaker] = splitVocabularies(input)
  parseOptions(path, microprofile, {}, MICROPROFILE_SPEC, problems)
  parseBreakerOptions(path, breaker, BREAKER_DEFAULTS, problems)
  for (const name of ['failOn', 'skipOn'] as const)
    problems.push(...matcherProblems(`${path}.${name}`, microprofile[name] ?? []))
  for (const [name, alias] of Object.entries(OPTION_ALIASES))
    if (name in microprofile && alias in breaker)
      problems.push(
        createProblem(
          `${path}.${name}`,
          'conflict',
          `either ${name} or ${alias}, which mean the same`,
          'both',
        ),
      )
  return problems
}

/** The problems of a single setting. */
export const breakerProblem = (name: string, value: unknown, path: string): OptionProblem[] =>
  breakerProblems({ ...REQUIRED_TOGETHER[name], [name]: value }, path)

/** Converts settings to breaker options with the defaults of MicroProfile; later layers override earlier ones. */
export function toBreakerOptions(layers: readonly CircuitBreakerSettings[]): BreakerOptions {
  let options: BreakerOptions & Pick<CircuitBreakerSettings, 'skipOn'> = {}
  for (const layer of layers) {
    const [microprofile, breaker] = splitVocabularies(layer)
    const merged = { ...breaker }
    for (const [name, value] of Object.entries(microprofile))
      merged[OPTION_ALIASES[name as keyof typeof OPTION_ALIASES] ?? name] = value
    // The last layer decides whether the number of failures or the failure rate opens the breaker.
    if ('failureThreshold' in merged) options = omitOptions(options, 'failureRate', 'windowType')
    if ('failureRate' in merged) options = omitOptions(options, 'failureThreshold', 'windowType')
    options = { ...options, ...merged }
  }
  const { skipOn, ...rest } = options
  const usesThreshold = rest.failureThreshold !== undefined || (rest.windowType ?? 'rate') !== 'rate'
  const {
    requestVolumeThreshold: [minimumCalls],
    failureRatio: [failureRate],
    delay: [timeoutDuration],
  } = MICROPROFILE_SPEC
  const defaultRate = usesThreshold || rest.slowCallRate !== undefined ? {} : { failureRate }
  const withDefaults = { minimumCalls, timeoutDuration, ...defaultRate, ...rest }
  return skipOn === undefined
    ? withDefaults
    : { ...withDefaults, failureOn: [createCountedPredicate(rest.failureOn, skipOn)] }
}

type SettingValues = Record<string, unknown>

/** Separates the settings of MicroProfile from the breaker options. An undefined value counts as absent. */
function splitVocabularies(
  input: object,
): [microprofile: SettingValues & CircuitBreakerSettings, breaker: SettingValues] {
  const entries = Object.entries(input).filter(([, value]) => value !== undefined)
  return [
    Object.fromEntries(entries.filter(([name]) => name in MICROPROFILE_SPEC)),
    Object.fromEntries(entries.filter(([name]) => !(name in MICROPROFILE_SPEC))),
  ]
}

function omitOptions(options: BreakerOptions, ...names: (keyof BreakerOptions)[]): BreakerOptions {
  return Object.fromEntries(
    Object.entries(options).filter(([name]) => !names.includes(name as keyof BreakerOptions)),
  )
}

/** Combines `failureOn` and `skipOn` into one predicate. */
function createCountedPredicate(
  failureOn: readonly Matcher[] | undefined,
  skipOn: readonly Matcher[],
): (error: unknown) => boolean {
  const matchesSkipOn = compileMatchers(skipOn)
  const matchesFailureOn = failureOn && compileMatchers(failureOn)
  return (error) => {
    const classification = classify(error)
    if (matchesSkipOn(error, classification)) return false
    return matchesFailureOn
      ? matchesFailureOn(error, classification)
      : classification.category !== 'permanent' && classification.kind !== 'rate_limited'
  }
}

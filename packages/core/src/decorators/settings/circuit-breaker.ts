import { BREAKER_DEFAULTS, type BreakerOptions, parseBreakerOptions } from '../../breaker/options.js'
import { classify, compileMatchers, type Matcher, matcherProblems } from '../../classify/index.js'
import type { Duration } from '../../duration.js'
import {
  type OptionSpec,
  parseOptions,
  positiveDuration,
  positiveFraction,
  positiveInteger,
} from '../../options.js'
import { matcherList } from '../../retry/options.js'

/**
 * When the breaker of a method opens and closes: MicroProfile's words and defaults, beside the engine's own words for the
 * same things and for what MicroProfile has none. Without `failureThreshold` it goes by the share of failed calls.
 */
export interface CircuitBreakerSettings extends BreakerOptions {
  /** How many calls the window must hold before it is judged; `minimumCalls`. @defaultValue 20 */
  requestVolumeThreshold?: number | undefined
  /** The share of failed calls, above 0 and up to 1, that opens it; `failureRate`. @defaultValue 0.5 */
  failureRatio?: number | undefined
  /** How long it stays open before a call may test it; `timeoutDuration`. @defaultValue 5000 */
  delay?: Duration | undefined
  /** Errors that count; `failureOn`. Absent: transient and critical ones but rate limits. */
  failOn?: readonly Matcher[] | undefined
  /** Errors that never count; wins over `failOn`. */
  skipOn?: readonly Matcher[] | undefined
}

const MICROPROFILE_SPEC: OptionSpec = {
  requestVolumeThreshold: [20, positiveInteger],
  failureRatio: [0.5, positiveFraction],
  delay: [5000, positiveDuration],
  failOn: [undefined, matcherList],
  skipOn: [undefined, matcherList],
}

const OPTION_ALIASES = {
  requestVolumeThreshold: 'minimumCalls',
  failureRatio: 'failureRate',
  delay: 'timeoutDuration',
  failOn: 'failureOn',
} as const

const { id: _, clock: __, ...OWN_OPTIONS } = BREAKER_DEFAULTS

/** Every word it takes. */
export const BREAKER_SETTING_NAMES: readonly string[] = [
  ...Object.keys(MICROPROFILE_SPEC),
  ...Object.keys(OWN_OPTIONS),
]

/** What an option is only sound beside; an override may come without. */
const REQUIRED_TOGETHER: { readonly [word: string]: BreakerOptions } = {
  slowCallRate: { slowCallDuration: 1 },
  slowCallDuration: { slowCallRate: 1 },
  maxTimeoutDuration: { timeoutDuration: 1 },
}

/** What is wrong with a breaker's settings. */
export function breakerProblems(input: object, path: string): string[] {
  const problems: string[] = []
  const [microprofile, own] = splitVocabularies(input)
  parseOptions(path, microprofile, {}, MICROPROFILE_SPEC, problems)
  parseBreakerOptions(path, own, BREAKER_DEFAULTS, problems)
  for (const name of ['failOn', 'skipOn'] as const)
    problems.push(...matcherProblems(`${path}.${name}`, microprofile[name] ?? []))
  for (const [name, alias] of Object.entries(OPTION_ALIASES))
    if (name in microprofile && alias in own)
      problems.push(`${path}.${name}: is ${alias} in other words, give one of them`)
  return problems
}

/** What is wrong with one setting by itself. */
export const breakerProblem = (name: string, value: unknown, path: string): string[] =>
  breakerProblems({ ...REQUIRED_TOGETHER[name], [name]: value }, path)

/** The settings in the engine's words, MicroProfile's defaults filled in; later layers win over earlier ones. */
export function toBreakerOptions(layers: readonly CircuitBreakerSettings[]): BreakerOptions {
  let options: BreakerOptions & Pick<CircuitBreakerSettings, 'skipOn'> = {}
  for (const layer of layers) {
    const [microprofile, own] = splitVocabularies(layer)
    const merged = { ...own }
    for (const [name, value] of Object.entries(microprofile))
      merged[OPTION_ALIASES[name as keyof typeof OPTION_ALIASES] ?? name] = value
    // Whoever speaks last says whether failures are counted or their share is taken.
    if ('failureThreshold' in merged) options = omitOptions(options, 'failureRate', 'windowType')
    if ('failureRate' in merged) options = omitOptions(options, 'failureThreshold', 'windowType')
    options = { ...options, ...merged }
  }
  const { skipOn, ...rest } = options
  const usesThreshold = rest.failureThreshold !== undefined || (rest.windowType ?? 'rate') !== 'rate'
  const usesRate = usesThreshold || rest.slowCallRate !== undefined ? {} : { failureRate: 0.5 }
  const filled = { minimumCalls: 20, timeoutDuration: 5000, ...usesRate, ...rest }
  return skipOn === undefined
    ? filled
    : { ...filled, failureOn: [createCountedPredicate(rest.failureOn, skipOn)] }
}

type SettingValues = Record<string, unknown>

/** MicroProfile's words, and the engine's. What is undefined is absent. */
function splitVocabularies(
  input: object,
): [foreign: SettingValues & CircuitBreakerSettings, own: SettingValues] {
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

/** One predicate for "counts, and is not skipped". */
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

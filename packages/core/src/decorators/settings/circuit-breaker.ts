import { BREAKER_DEFAULTS, type BreakerOptions, readBreaker } from '../../breaker/options.js'
import { classify, compileMatchers, type Matcher, matcherProblems } from '../../classify/index.js'
import type { Duration } from '../../duration.js'
import { count, rate, read, type Spec, span } from '../../options.js'
import { matchers } from '../../retry/options.js'

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

const SPEC: Spec = {
  requestVolumeThreshold: [20, count],
  failureRatio: [0.5, rate],
  delay: [5000, span],
  failOn: [undefined, matchers],
  skipOn: [undefined, matchers],
}

const TWINS = {
  requestVolumeThreshold: 'minimumCalls',
  failureRatio: 'failureRate',
  delay: 'timeoutDuration',
  failOn: 'failureOn',
} as const

const { id: _, clock: __, ...OWN } = BREAKER_DEFAULTS

/** Every word it takes. */
export const BREAKER_WORDS: readonly string[] = [...Object.keys(SPEC), ...Object.keys(OWN)]

/** What an option is only sound beside; an override may come without. */
const BESIDE: { readonly [word: string]: BreakerOptions } = {
  slowCallRate: { slowCallDuration: 1 },
  slowCallDuration: { slowCallRate: 1 },
  maxTimeoutDuration: { timeoutDuration: 1 },
}

/** What is wrong with a breaker's settings. */
export function breakerProblems(given: object, path: string): string[] {
  const problems: string[] = []
  const [foreign, own] = split(given)
  read(path, foreign, {}, SPEC, problems)
  readBreaker(path, own, BREAKER_DEFAULTS, problems)
  for (const word of ['failOn', 'skipOn'] as const)
    problems.push(...matcherProblems(`${path}.${word}`, foreign[word] ?? []))
  for (const [word, twin] of Object.entries(TWINS))
    if (word in foreign && twin in own)
      problems.push(`${path}.${word}: is ${twin} in other words, give one of them`)
  return problems
}

/** What is wrong with one setting by itself. */
export const breakerProblem = (word: string, value: unknown, path: string): string[] =>
  breakerProblems({ ...BESIDE[word], [word]: value }, path)

/** The settings in the engine's words, MicroProfile's defaults filled in; later layers win over earlier ones. */
export function toBreaker(layers: readonly CircuitBreakerSettings[]): BreakerOptions {
  let options: BreakerOptions & Pick<CircuitBreakerSettings, 'skipOn'> = {}
  for (const layer of layers) {
    const [foreign, own] = split(layer)
    const said = { ...own }
    for (const [word, value] of Object.entries(foreign))
      said[TWINS[word as keyof typeof TWINS] ?? word] = value
    // Whoever speaks last says whether failures are counted or their share is taken.
    if ('failureThreshold' in said) options = without(options, 'failureRate', 'windowType')
    if ('failureRate' in said) options = without(options, 'failureThreshold', 'windowType')
    options = { ...options, ...said }
  }
  const { skipOn, ...rest } = options
  const counting = rest.failureThreshold !== undefined || (rest.windowType ?? 'rate') !== 'rate'
  const rated = counting || rest.slowCallRate !== undefined ? {} : { failureRate: 0.5 }
  const filled = { minimumCalls: 20, timeoutDuration: 5000, ...rated, ...rest }
  return skipOn === undefined ? filled : { ...filled, failureOn: [counted(rest.failureOn, skipOn)] }
}

type Words = Record<string, unknown>

/** MicroProfile's words, and the engine's. What is undefined is absent. */
function split(given: object): [foreign: Words & CircuitBreakerSettings, own: Words] {
  const said = Object.entries(given).filter(([, value]) => value !== undefined)
  return [
    Object.fromEntries(said.filter(([word]) => word in SPEC)),
    Object.fromEntries(said.filter(([word]) => !(word in SPEC))),
  ]
}

function without(options: BreakerOptions, ...words: (keyof BreakerOptions)[]): BreakerOptions {
  return Object.fromEntries(
    Object.entries(options).filter(([word]) => !words.includes(word as keyof BreakerOptions)),
  )
}

/** One predicate for "counts, and is not skipped". */
function counted(
  failureOn: readonly Matcher[] | undefined,
  skipOn: readonly Matcher[],
): (error: unknown) => boolean {
  const skip = compileMatchers(skipOn)
  const count = failureOn && compileMatchers(failureOn)
  return (error) => {
    const known = classify(error)
    if (skip(error, known)) return false
    return count ? count(error, known) : known.category !== 'permanent' && known.kind !== 'rate_limited'
  }
}

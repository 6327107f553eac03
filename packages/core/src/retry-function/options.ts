import type { Classification } from '../classify/classification.js'
import type { Matcher } from '../classify/matchers.js'
import { type Clock, platformClock, type Random, systemRandom } from '../clock.js'
import type { Duration } from '../duration.js'
import {
  durationOrInfinity,
  type OptionProblem,
  type OptionRule,
  type OptionSpec,
  type OptionSpecOf,
  ofType,
  optionProblem,
  parseOptions,
  throwIfInvalid,
} from '../options.js'
import {
  type CompiledRetryPolicy,
  type FetchRetryOptions,
  parseRetryFields,
  RETRY_DEFAULTS,
} from '../retry/options.js'
import { compileRules } from './error-rules.js'

/** Options of {@link retry}: those of `guard({ retry })` except for `beforeRetry` and `nested`, and those of the call. */
export interface RetryFunctionOptions extends Omit<FetchRetryOptions, 'beforeRetry' | 'nested'> {
  /** Ends the call at once when aborted, with the signal's reason. */
  signal?: AbortSignal | undefined
  /** How long the call with all its attempts and delays can take. @defaultValue no deadline */
  timeout?: { total?: Duration | undefined } | undefined
  /**
   * Classifies an error, such as `classify` of `holdfast`. Without it only the HTTP status and the class of an error are
   * inspected, and `retryOn` and `abortOn` cannot name kinds.
   */
  classify?: ((error: unknown) => Partial<Classification> | undefined) | undefined
  /** The clock. @defaultValue the timers and clocks of the platform */
  clock?: Clock | undefined
  /** The source of random numbers. @defaultValue `Math.random` */
  random?: Random | undefined
}

type NonRetryOptions = Omit<RetryFunctionOptions, keyof FetchRetryOptions>

/** {@link RetryFunctionOptions}, checked and with defaults. */
export interface RetryFunctionSettings
  extends CompiledRetryPolicy,
    Omit<NonRetryOptions, 'clock' | 'random'> {
  readonly clock: Clock
  readonly random: Random
  readonly totalTimeout: number
}

/** An option that needs a guard. */
const guardOnly: OptionRule = ['a guard for it', () => false]

const CALL_SPEC = {
  signal: [undefined, ofType('object')],
  timeout: [undefined, ofType('object')],
  classify: [undefined, ofType('function')],
  clock: [undefined, ofType('object')],
  random: [undefined, ofType('function')],
  beforeRetry: [undefined, guardOnly],
  nested: [undefined, guardOnly],
} satisfies OptionSpecOf<NonRetryOptions & { beforeRetry: unknown; nested: unknown }>

const TIMEOUT_SPEC: OptionSpec = { total: [Infinity, durationOrInfinity] }

/** Kinds and codes of other systems, which only the whole classification knows: names in lower case, or with a prefix. */
const CLASSIFIED_NAME = /:|^(?!tran|perm)[a-z_]+$/

/** Checks the options of a call. @throws INVALID_OPTIONS that lists every problem */
export function parseRetryFunctionOptions(input: RetryFunctionOptions): RetryFunctionSettings {
  const problems: OptionProblem[] = []
  const defaults = { ...RETRY_DEFAULTS, clock: platformClock, random: systemRandom } as RetryFunctionSettings
  const settings = parseRetryFields('', input, defaults, problems, CALL_SPEC)
  const { timeout = {}, classify, retryOn, abortOn } = settings
  const { total } = parseOptions('timeout', timeout, { total: Infinity }, TIMEOUT_SPEC, problems)
  const isMatcher = (entry: Matcher): boolean =>
    typeof entry === 'string'
      ? classify !== undefined || !CLASSIFIED_NAME.test(entry)
      : typeof entry === 'function'
  for (const [name, list = []] of Object.entries({ retryOn, abortOn }))
    for (const entry of list)
      if (!isMatcher(entry)) problems.push(optionProblem(name, 'a matcher (kinds need classify)', entry))
  throwIfInvalid('retry', problems)
  return {
    ...settings,
    totalTimeout: total,
    matchesRetryOn: compileRules(retryOn),
    matchesAbortOn: compileRules(abortOn),
  }
}

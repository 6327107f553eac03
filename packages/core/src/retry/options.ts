import { type CompiledMatcher, compileMatchers, type Matcher, matcherProblems } from '../classify/index.js'
import type { Duration } from '../duration.js'
import {
  anyOf,
  atLeastOne,
  countOrInfinity,
  defaultsOf,
  durationOrInfinity,
  fraction,
  nonNegativeDuration,
  type OptionRule,
  type OptionSpecOf,
  ofType,
  oneOf,
  parseOptions,
  requireAtLeast,
} from '../options.js'
import { reportOnce } from '../report.js'

/** How waits grow, or a function of the retry's number (1, 2, …), the error, and the wait before. */
export type Backoff =
  | 'exponential'
  | 'linear'
  | 'fixed'
  | 'immediate'
  | 'fibonacci'
  | ((n: number, error: unknown, previousDelay: number) => Duration)

/** How chance spreads waits. */
export type Jitter = 'none' | 'full' | 'equal' | 'decorrelated' | 'proportional' | 'additive'

/** What an attempt came to, as `retryIf` sees it. `attempt` is its number, 1 for the first. */
export interface Outcome {
  /** What it returned; absent where it threw. */
  value?: unknown
  /** What it threw; absent where it returned. */
  error?: unknown
  /** Which attempt it was. */
  attempt: number
}

/** When a failed call is tried again, and how long it waits before. */
export interface RetryOptions {
  /** How many attempts there are in all, the first included; Infinity is allowed. @defaultValue 3 */
  maxAttempts?: number | undefined
  /** How the wait grows from one retry to the next. @defaultValue 'exponential' */
  backoffType?: Backoff | undefined
  /** The wait before the first retry. @defaultValue 1000, or `maxDelay` where that is less */
  baseDelay?: Duration | undefined
  /** The factor of exponential growth. @defaultValue 2 */
  multiplier?: number | undefined
  /** No wait is longer, jitter included. @defaultValue 30000 */
  maxDelay?: Duration | undefined
  /** How chance spreads the waits. @defaultValue 'none' */
  jitterType?: Jitter | undefined
  /** The share of the wait, 0 to 1, that chance decides. @defaultValue 0.1 */
  jitterAmount?: number | undefined
  /** The least that additive jitter adds. @defaultValue 0 */
  jitterMin?: Duration | undefined
  /** The most that additive jitter adds. @defaultValue 0 */
  jitterMax?: Duration | undefined
  /** Errors to retry. Absent: those classified as transient. Empty: none. */
  retryOn?: readonly Matcher[] | undefined
  /** Errors never to retry; wins over everything else. */
  abortOn?: readonly Matcher[] | undefined
  /** Asks for another attempt, whatever the other rules say but `abortOn`; also on a value that is not wanted. */
  retryIf?: ((outcome: Outcome) => boolean) | undefined
  /** Whether a server's Retry-After replaces the wait. @defaultValue true */
  respectRetryAfter?: boolean | undefined
  /** A Retry-After beyond this stops the call instead. @defaultValue 60000 */
  maxRetryAfter?: Duration | undefined
}

/** When a request is sent again: what a guard takes, and what is HTTP's own. */
export interface FetchRetryOptions extends RetryOptions {
  /** Statuses to retry: 408, 425, 429 and 5xx. Absent: those classified as transient. Empty: none. */
  retryStatusCodes?: readonly number[] | undefined
  /** Whether POST, PATCH and unknown methods are sent again too, though they may have arrived. @defaultValue false */
  retryNonIdempotent?: boolean | undefined
  /**
   * Whether a request that changes something and has no Idempotency-Key gets one, the same on every attempt; with a key
   * any method may be sent again. @defaultValue false
   */
  idempotencyKey?: boolean | undefined
  /**
   * Statuses from 400 to 599 with which the server says that it did not process the request: after them any method is
   * sent again. `abortOn` still wins, and where `retryOn` or `retryStatusCodes` is given, that must ask for the retry.
   * @defaultValue none
   */
  notProcessedStatuses?: readonly number[] | undefined
}

/** {@link RetryOptions} checked, in milliseconds, with every default filled in and its matchers compiled. */
export interface CompiledRetryPolicy {
  readonly maxAttempts: number
  readonly backoffType: Backoff
  readonly baseDelay: number
  readonly multiplier: number
  readonly maxDelay: number
  readonly jitterType: Jitter
  readonly jitterAmount: number
  readonly jitterMin: number
  readonly jitterMax: number
  readonly retryOn: readonly Matcher[] | undefined
  readonly abortOn: readonly Matcher[] | undefined
  readonly retryIf: ((outcome: Outcome) => boolean) | undefined
  readonly respectRetryAfter: boolean
  readonly maxRetryAfter: number
  readonly matchesRetryOn?: CompiledMatcher | undefined
  readonly matchesAbortOn?: CompiledMatcher | undefined
}

/** A list of matchers, of which each is looked at by {@link matcherProblems}. */
export const matcherList: OptionRule = [
  'an array of matchers',
  Array.isArray,
  (value) => (Array.isArray(value) ? [...value] : value),
]

/** Options that only a fetch reads. A guard accepts them, so that one set of options, such as a preset, fits both. */
const ignored: OptionRule = ['', () => true, () => undefined]

const RETRY_SPEC = {
  maxAttempts: [3, countOrInfinity],
  backoffType: [
    'exponential',
    anyOf(oneOf('exponential', 'linear', 'fixed', 'immediate', 'fibonacci'), ofType('function')),
  ],
  baseDelay: [1000, nonNegativeDuration],
  multiplier: [2, atLeastOne],
  maxDelay: [30_000, nonNegativeDuration],
  jitterType: ['none', oneOf('none', 'full', 'equal', 'decorrelated', 'proportional', 'additive')],
  jitterAmount: [0.1, fraction],
  jitterMin: [0, nonNegativeDuration],
  jitterMax: [0, nonNegativeDuration],
  retryOn: [undefined, matcherList],
  abortOn: [undefined, matcherList],
  retryIf: [undefined, ofType('function')],
  respectRetryAfter: [true, ofType('boolean')],
  maxRetryAfter: [60_000, durationOrInfinity],
  retryStatusCodes: [undefined, ignored],
  retryNonIdempotent: [undefined, ignored],
  idempotencyKey: [undefined, ignored],
  notProcessedStatuses: [undefined, ignored],
} satisfies OptionSpecOf<FetchRetryOptions>

/** The defaults of {@link RetryOptions}. */
export const RETRY_DEFAULTS = defaultsOf(RETRY_SPEC) as CompiledRetryPolicy

/** One attempt and no more: what `retry: false` means. */
export const NO_RETRY: CompiledRetryPolicy = { ...RETRY_DEFAULTS, maxAttempts: 1 }

/** Compiles a list of matchers; a predicate in it that throws matches nothing and is reported once. */
export function compileMatcherList(
  list: readonly Matcher[] | undefined,
  option: string,
): CompiledMatcher | undefined {
  return (
    list &&
    compileMatchers(list, (error, predicate) => reportOnce(`a predicate in ${option}`, predicate, error))
  )
}

/** Checks retry options over a policy that fills in what they leave out. */
export function parseRetryOptions(
  input: unknown,
  defaults: CompiledRetryPolicy,
  problems: string[],
): CompiledRetryPolicy {
  const policy = parseOptions('retry', input, defaults, RETRY_SPEC, problems)
  const { maxDelay, jitterMin, jitterMax, retryOn, abortOn } = policy
  const givenBaseDelay = (Object(input) as RetryOptions).baseDelay
  // A cap caps the base that nobody gave beside it; the two contradict each other only where both were given.
  const baseDelay = givenBaseDelay === undefined ? Math.min(policy.baseDelay, maxDelay) : policy.baseDelay
  requireAtLeast('retry.maxDelay', maxDelay, 'baseDelay', baseDelay, problems)
  requireAtLeast('retry.jitterMax', jitterMax, 'jitterMin', jitterMin, problems)
  problems.push(
    ...matcherProblems('retry.retryOn', retryOn ?? []),
    ...matcherProblems('retry.abortOn', abortOn ?? []),
  )
  const isValid = problems.length === 0
  return Object.freeze({
    ...policy,
    baseDelay,
    matchesRetryOn: isValid ? compileMatcherList(retryOn, 'retryOn') : undefined,
    matchesAbortOn: isValid ? compileMatcherList(abortOn, 'abortOn') : undefined,
  })
}

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
  type OptionProblem,
  type OptionRule,
  type OptionSpec,
  type OptionSpecOf,
  ofType,
  oneOf,
  parseOptions,
  requireAtLeast,
} from '../options.js'
import { reportOnce } from '../report.js'

/** How delays grow, or a function of the number of the retry (1, 2, …), the error and the previous delay. */
export type Backoff =
  | 'exponential'
  | 'linear'
  | 'fixed'
  | 'immediate'
  | 'fibonacci'
  | ((n: number, error: unknown, previousDelay: number) => Duration)

/** Every {@link Backoff} that is a name. */
export const BACKOFF_TYPES = [
  'exponential',
  'linear',
  'fixed',
  'immediate',
  'fibonacci',
] as const satisfies readonly Backoff[]

/** How delays are randomised. */
export type Jitter = 'none' | 'full' | 'equal' | 'decorrelated' | 'proportional' | 'additive'

/** Every {@link Jitter}. */
export const JITTER_TYPES = [
  'none',
  'full',
  'equal',
  'decorrelated',
  'proportional',
  'additive',
] as const satisfies readonly Jitter[]

/** Every value of `nested`. */
export const NESTED_RETRIES = ['retry', 'stop'] as const

/** The outcome of an attempt, as `retryIf` gets it. */
export interface Outcome {
  /** The returned value; absent if the attempt threw. */
  value?: unknown
  /** The thrown error; absent if the attempt returned. */
  error?: unknown
  /** The number of the attempt, 1 for the first. */
  attempt: number
}

/** The argument of `beforeRetry`: the retry that follows. */
export interface RetryInfo {
  /** The error of the last attempt; undefined if it returned a value that `retryIf` rejected. */
  readonly error: unknown
  /** The number of the next attempt. */
  readonly attempt: number
  /** The delay that has passed since the last attempt, in milliseconds. */
  readonly delay: number
  /** The call's context. */
  readonly context: unknown
  /** Aborted when the total deadline passes or the caller aborts. */
  readonly signal: AbortSignal
}

/** When a failed call is retried, and after which delay. */
export interface RetryOptions {
  /** The maximum number of attempts, including the first; Infinity is allowed. @defaultValue 3 */
  maxAttempts?: number | undefined
  /** How the delay grows from one retry to the next. @defaultValue 'exponential' */
  backoffType?: Backoff | undefined
  /** The delay before the first retry. @defaultValue 1000, or `maxDelay` if that is less */
  baseDelay?: Duration | undefined
  /** The factor of exponential growth. @defaultValue 2 */
  multiplier?: number | undefined
  /** The maximum delay, jitter included. @defaultValue 30000 */
  maxDelay?: Duration | undefined
  /** How delays are randomised. @defaultValue 'none' */
  jitterType?: Jitter | undefined
  /** The fraction of the delay, 0 to 1, that is random. @defaultValue 0.1 */
  jitterAmount?: number | undefined
  /** The minimum that additive jitter adds. @defaultValue 0 */
  jitterMin?: Duration | undefined
  /** The maximum that additive jitter adds. @defaultValue 0 */
  jitterMax?: Duration | undefined
  /** Errors to retry. Absent: those classified as transient. Empty: none. */
  retryOn?: readonly Matcher[] | undefined
  /** Errors that are never retried; takes precedence over everything else. */
  abortOn?: readonly Matcher[] | undefined
  /** Returns true for an error or a value that is retried regardless of the other rules except `abortOn`. */
  retryIf?: ((outcome: Outcome) => boolean) | undefined
  /** Whether a server's Retry-After replaces the delay. @defaultValue true */
  respectRetryAfter?: boolean | undefined
  /** A Retry-After above this ends the call instead. @defaultValue 60000 */
  maxRetryAfter?: Duration | undefined
  /**
   * Called after the delay and awaited before each retry, for example to refresh a token or to reconnect. An error that it
   * throws ends the call, with the original error as its cause unless it has one. Not called for hedges.
   */
  beforeRetry?: ((info: RetryInfo) => unknown) | undefined
  /**
   * Whether an error is retried although a guard inside the function has already used up its retries for it. 'stop' prevents
   * that attempts of several layers multiply. @defaultValue 'retry'
   */
  nested?: 'retry' | 'stop' | undefined
}

/** When a request is retried: the options of a guard, and those for HTTP. */
export interface FetchRetryOptions extends RetryOptions {
  /** Statuses to retry, among 408, 425, 429 and 5xx. Absent: those classified as transient. Empty: none. */
  retryStatusCodes?: readonly number[] | undefined
  /** Whether POST, PATCH and unknown methods are retried too, although the server can have received them. @defaultValue false */
  retryNonIdempotent?: boolean | undefined
  /**
   * Whether a request with a method that is not safe and without an Idempotency-Key gets a key, the same on every attempt. With
   * a key any method is retried. @defaultValue false
   */
  idempotencyKey?: boolean | undefined
  /**
   * Statuses from 400 to 599 with which the server reports that it did not process the request: after them any method is
   * retried. `abortOn` takes precedence, and `retryOn` or `retryStatusCodes`, if given, must include the error.
   * @defaultValue none
   */
  notProcessedStatuses?: readonly number[] | undefined
}

/** {@link RetryOptions}, checked, in milliseconds, with defaults and compiled matchers. */
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
  readonly beforeRetry: ((info: RetryInfo) => unknown) | undefined
  readonly nested: 'retry' | 'stop'
  readonly matchesRetryOn?: CompiledMatcher | undefined
  readonly matchesAbortOn?: CompiledMatcher | undefined
  /** Whether a response reports that retries were made behind it, for `nested`. */
  readonly reportsExhaustion?: ((result: unknown) => boolean) | undefined
}

/** A list of matchers; its entries are checked by {@link matcherProblems}. */
export const matcherList: OptionRule = [
  'an array of matchers',
  Array.isArray,
  (value) => (Array.isArray(value) ? [...value] : value),
]

/** Options that only a fetch uses. A guard accepts them, so that the same options, such as a preset, can be used for both. */
const ignored: OptionRule = ['', () => true, () => undefined]

const RETRY_SPEC = {
  maxAttempts: [3, countOrInfinity],
  backoffType: ['exponential', anyOf(oneOf(BACKOFF_TYPES), ofType('function'))],
  baseDelay: [1000, nonNegativeDuration],
  multiplier: [2, atLeastOne],
  maxDelay: [30_000, nonNegativeDuration],
  jitterType: ['none', oneOf(JITTER_TYPES)],
  jitterAmount: [0.1, fraction],
  jitterMin: [0, nonNegativeDuration],
  jitterMax: [0, nonNegativeDuration],
  retryOn: [undefined, matcherList],
  abortOn: [undefined, matcherList],
  retryIf: [undefined, ofType('function')],
  respectRetryAfter: [true, ofType('boolean')],
  maxRetryAfter: [60_000, durationOrInfinity],
  beforeRetry: [undefined, ofType('function')],
  nested: ['retry', oneOf(NESTED_RETRIES)],
  retryStatusCodes: [undefined, ignored],
  retryNonIdempotent: [undefined, ignored],
  idempotencyKey: [undefined, ignored],
  notProcessedStatuses: [undefined, ignored],
} satisfies OptionSpecOf<FetchRetryOptions>

/** The defaults of {@link RetryOptions}. */
export const RETRY_DEFAULTS = defaultsOf(RETRY_SPEC) as CompiledRetryPolicy

/** The policy of `retry: false`: one attempt. */
export const NO_RETRY: CompiledRetryPolicy = /* @__PURE__ */ withOneAttempt(RETRY_DEFAULTS)

/** The policy without retries, for `retry: false`. */
function withOneAttempt(policy: CompiledRetryPolicy): CompiledRetryPolicy {
  return { ...policy, maxAttempts: 1 }
}

/** Compiles a list of matchers. A predicate that throws matches nothing and is reported once. */
export function compileMatcherList(
  list: readonly Matcher[] | undefined,
  option: string,
): CompiledMatcher | undefined {
  return (
    list &&
    compileMatchers(list, (error, predicate) => reportOnce(`a predicate in ${option}`, predicate, error))
  )
}

/**
 * Checks retry options except for their matchers; `defaults` fill in options that are left out. `path` precedes names in
 * problems, `more` has the rules of further options.
 */
export function parseRetryFields<T extends CompiledRetryPolicy>(
  path: string,
  input: unknown,
  defaults: T,
  problems: OptionProblem[],
  more?: OptionSpec,
): T {
  const policy = parseOptions(path, input, defaults, { ...RETRY_SPEC, ...more }, problems)
  const { maxDelay, jitterMin, jitterMax } = policy
  const prefix = path && `${path}.`
  const givenBaseDelay = (Object(input) as RetryOptions).baseDelay
  // A default base delay is lowered to a smaller `maxDelay`; only a given base delay can contradict it.
  const baseDelay = givenBaseDelay === undefined ? Math.min(policy.baseDelay, maxDelay) : policy.baseDelay
  requireAtLeast(`${prefix}maxDelay`, maxDelay, 'baseDelay', baseDelay, problems)
  requireAtLeast(`${prefix}jitterMax`, jitterMax, 'jitterMin', jitterMin, problems)
  return { ...policy, baseDelay }
}

/** Checks and compiles retry options; `defaults` fill in options that are left out. */
export function parseRetryOptions(
  input: unknown,
  defaults: CompiledRetryPolicy,
  problems: OptionProblem[],
): CompiledRetryPolicy {
  const policy = parseRetryFields('retry', input, defaults, problems)
  const { retryOn, abortOn } = policy
  problems.push(
    ...matcherProblems('retry.retryOn', retryOn ?? []),
    ...matcherProblems('retry.abortOn', abortOn ?? []),
  )
  const isValid = problems.length === 0
  return Object.freeze({
    ...policy,
    matchesRetryOn: isValid ? compileMatcherList(retryOn, 'retryOn') : undefined,
    matchesAbortOn: isValid ? compileMatcherList(abortOn, 'abortOn') : undefined,
  })
}

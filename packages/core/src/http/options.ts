import { isHoldfastError } from '../errors.js'
import type { FallbackInfo } from '../fallback/fallback.js'
import { type GuardOptions, type GuardSettings, parseGuardOptions } from '../guard/options.js'
import {
  type OptionProblem,
  type OptionRule,
  type OptionSpec,
  ofType,
  parseOptions,
  throwIfInvalid,
} from '../options.js'
import type { MemberPool } from '../pool/members/member-pool.js'
import {
  type CompiledRetryPolicy,
  type FetchRetryOptions,
  NO_RETRY,
  parseRetryOptions,
  RETRY_DEFAULTS,
  type RetryOptions,
} from '../retry/options.js'
import { findPoolProblems } from './check-target.js'
import { isRetryableStatus, RETRYABLE_STATUS_ARRAY } from './retryable-status.js'
import type { FetchTarget } from './target.js'

/** Options of {@link createFetch}: those of a guard, and some for HTTP. */
export interface FetchOptions extends Omit<GuardOptions, 'retry' | 'pool' | 'fallback'> {
  /** When and how often a request is retried; false: never. @defaultValue 3 attempts, exponential from 1 s, cap 30 s */
  retry?: FetchRetryOptions | false | undefined
  /** The pool whose members receive the requests, one for each attempt. */
  pool?: MemberPool<FetchTarget> | undefined
  /** The function that sends a request. @defaultValue the global fetch at the time of the request */
  fetch?: FetchFunction | undefined
  /** Whether a response with a status of 400 or more is thrown as a StatusError instead of returned. @defaultValue false */
  throwOnStatus?: boolean | undefined
  /** Returns a response in place of an error, and with `throwOnStatus` of a status. Not called when the caller aborts. */
  fallback?: ((error: unknown, info: FallbackInfo) => Response | PromiseLike<Response>) | undefined
}

/** A function that sends a request: `fetch`, or one with the same signature. */
export type FetchFunction = (input: Parameters<typeof fetch>[0], init?: RequestInit) => Promise<Response>

/** The HTTP part of {@link FetchRetryOptions}, with defaults. */
export interface HttpRetryRules {
  readonly retryStatusCodes: ReadonlySet<number> | undefined
  readonly retryNonIdempotent: boolean
  readonly idempotencyKey: boolean
  /** Statuses after which a request of any method can be sent again. */
  readonly notProcessedStatuses: ReadonlySet<number>
}

/** The retry policy of a request. */
export interface RequestPolicy {
  readonly retry: CompiledRetryPolicy
  readonly rules: HttpRetryRules
}

/** {@link FetchOptions}, validated and with defaults. */
export interface FetchSettings {
  readonly guard: GuardSettings
  readonly policy: RequestPolicy
  readonly fetch: FetchFunction | undefined
  readonly throwOnStatus: boolean
}

const retryableStatuses: OptionRule = [
  `${RETRYABLE_STATUS_ARRAY} (others are for retryIf)`,
  (value: unknown) => value instanceof Set,
  (value) => (Array.isArray(value) && value.every(isRetryableStatus) ? new Set(value) : value),
]

const failureStatuses: OptionRule = [
  'an array of statuses from 400 to 599',
  (value: unknown) => value instanceof Set,
  (value) => (Array.isArray(value) && value.every(isFailureStatus) ? new Set(value) : value),
]

const isFailureStatus = (status: unknown): boolean =>
  Number.isInteger(status) && (status as number) >= 400 && (status as number) < 600

const HTTP_RETRY_SPEC: OptionSpec = {
  retryStatusCodes: [undefined, retryableStatuses],
  retryNonIdempotent: [false, ofType('boolean')],
  idempotencyKey: [false, ofType('boolean')],
  notProcessedStatuses: [undefined, failureStatuses],
}

const FETCH_SPEC: OptionSpec = {
  fetch: [undefined, ofType('function')],
  throwOnStatus: [false, ofType('boolean')],
}

const DEFAULT_HTTP_RULES: HttpRetryRules = {
  retryStatusCodes: undefined,
  retryNonIdempotent: false,
  idempotencyKey: false,
  notProcessedStatuses: new Set(),
}

/** Parses the HTTP part of the retry options, and returns it apart from the options of a guard. */
function parseHttpRules(
  input: object,
  defaults: HttpRetryRules,
  problems: OptionProblem[],
): { rules: HttpRetryRules; rest: RetryOptions } {
  const { retryStatusCodes, retryNonIdempotent, idempotencyKey, notProcessedStatuses, ...rest } =
    input as FetchRetryOptions
  const httpRules = { retryStatusCodes, retryNonIdempotent, idempotencyKey, notProcessedStatuses }
  return { rules: parseOptions('retry', httpRules, defaults, HTTP_RETRY_SPEC, problems), rest }
}

/** Validates the options of a guard and of HTTP. @throws INVALID_OPTIONS that lists all problems, including `problems` */
export function parseRequestOptions(
  subject: string,
  input: Omit<FetchOptions, 'fetch' | 'throwOnStatus'>,
  problems: OptionProblem[],
): { guard: GuardSettings; policy: RequestPolicy } {
  const { retry, pool } = Object(input) as FetchOptions
  const isObject = typeof retry === 'object' && retry !== null
  const { rules, rest } = isObject
    ? parseHttpRules(retry, DEFAULT_HTTP_RULES, problems)
    : { rules: DEFAULT_HTTP_RULES, rest: retry }
  let guard: GuardSettings | undefined
  try {
    guard = parseGuardOptions((isObject ? { ...input, retry: rest } : input) as GuardOptions)
  } catch (error) {
    const found = (error as { problems?: OptionProblem[] }).problems
    if (!isHoldfastError(error, 'INVALID_OPTIONS') || found === undefined) throw error
    problems.push(...found)
  }
  problems.push(...findPoolProblems(pool))
  throwIfInvalid(subject, problems)
  const settings = guard as GuardSettings
  return { guard: settings, policy: { retry: settings.retry, rules } }
}

/** Validates the options of a fetch. @throws INVALID_OPTIONS that lists all problems */
export function parseFetchOptions(input: FetchOptions): FetchSettings {
  const problems: OptionProblem[] = []
  if (Object(input) !== input || Array.isArray(input))
    return { ...parseRequestOptions('a fetch', input, problems), ...FETCH_DEFAULTS }
  const { fetch, throwOnStatus, ...rest } = input
  const fetchOptions = parseOptions('', { fetch, throwOnStatus }, FETCH_DEFAULTS, FETCH_SPEC, problems)
  const subject = typeof rest.name === 'string' ? `the fetch ${rest.name}` : 'a fetch'
  return { ...parseRequestOptions(subject, rest, problems), ...fetchOptions }
}

const FETCH_DEFAULTS: Pick<FetchSettings, 'fetch' | 'throwOnStatus'> = {
  fetch: undefined,
  throwOnStatus: false,
}

/** Merges the retry options of one request into a policy. @throws INVALID_OPTIONS that lists all problems */
export function mergeRequestPolicy(input: FetchRetryOptions | false, base: RequestPolicy): RequestPolicy {
  if (input === false) {
    const { maxAttempts } = NO_RETRY
    return { rules: base.rules, retry: { ...base.retry, maxAttempts, retryIf: undefined } }
  }
  const problems: OptionProblem[] = []
  if (Object(input) !== input) {
    parseRetryOptions(input, RETRY_DEFAULTS, problems)
    throwIfInvalid('the request', problems)
  }
  const { rules, rest } = parseHttpRules(input, base.rules, problems)
  const retry = parseRetryOptions(rest, base.retry, problems)
  throwIfInvalid('the request', problems)
  return { rules, retry }
}

import { isHoldfastError } from '../errors.js'
import {
  type FallbackInfo,
  type GuardOptions,
  type GuardSettings,
  parseGuardOptions,
} from '../guard/options.js'
import { type OptionRule, type OptionSpec, ofType, parseOptions, throwIfInvalid } from '../options.js'
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
import type { FetchTarget } from './target.js'

/** What {@link createFetch} takes: a guard's options, and a few of its own. */
export interface FetchOptions extends Omit<GuardOptions, 'retry' | 'pool' | 'fallback'> {
  /** When and how often to send again; false: never. @defaultValue 3 attempts, exponential from 1 s, cap 30 s */
  retry?: FetchRetryOptions | false | undefined
  /** Where requests go: each attempt to one of the members. */
  pool?: MemberPool<FetchTarget> | undefined
  /** What sends a request. @defaultValue the global fetch, as it is when the request is made */
  fetch?: FetchFunction | undefined
  /** Whether an answer of 400 or more is thrown, as a StatusError, instead of returned. @defaultValue false */
  throwOnStatus?: boolean | undefined
  /** Makes an answer of a failure: of an error, and with `throwOnStatus` of a status. Skipped where the caller aborts. */
  fallback?: ((error: unknown, info: FallbackInfo) => Response | PromiseLike<Response>) | undefined
}

/** Sends a request: `fetch`, or anything that can be called like it. */
export type FetchFunction = (input: Parameters<typeof fetch>[0], init?: RequestInit) => Promise<Response>

/** What of {@link FetchRetryOptions} is HTTP's own, filled in. */
interface HttpRetryRules {
  readonly retryStatusCodes: ReadonlySet<number> | undefined
  readonly retryNonIdempotent: boolean
  readonly idempotencyKey: boolean
  /** Statuses after which any method may be sent again. */
  readonly notProcessedStatuses: ReadonlySet<number>
}

/** What a request that is sent again obeys. */
export interface RequestPolicy {
  readonly retry: CompiledRetryPolicy
  readonly rules: HttpRetryRules
}

/** {@link FetchOptions} checked and filled in. */
export interface FetchSettings {
  readonly guard: GuardSettings
  readonly policy: RequestPolicy
  readonly fetch: FetchFunction | undefined
  readonly throwOnStatus: boolean
}

const retryableStatuses: OptionRule = [
  'an array of 408, 425, 429 and statuses from 500 to 599 (others are for retryIf)',
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

const isRetryableStatus = (status: unknown): boolean =>
  Number.isInteger(status) &&
  ([408, 425, 429].includes(status as number) || Math.floor((status as number) / 100) === 5)

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

/** What HTTP adds to a guard's retrying, taken apart from the rest. */
function parseHttpRules(
  input: object,
  defaults: HttpRetryRules,
  problems: string[],
): { rules: HttpRetryRules; rest: RetryOptions } {
  const { retryStatusCodes, retryNonIdempotent, idempotencyKey, notProcessedStatuses, ...rest } =
    input as FetchRetryOptions
  const httpRules = { retryStatusCodes, retryNonIdempotent, idempotencyKey, notProcessedStatuses }
  return { rules: parseOptions('retry', httpRules, defaults, HTTP_RETRY_SPEC, problems), rest }
}

/** Checks what a guard and HTTP together take, or throws INVALID_OPTIONS that lists everything wrong with it. */
export function parseRequestOptions(
  subject: string,
  input: Omit<FetchOptions, 'fetch' | 'throwOnStatus'>,
  problems: string[],
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
    if (!isHoldfastError(error, 'INVALID_OPTIONS') || error.details === undefined) throw error
    problems.push(...error.details)
  }
  problems.push(...findPoolProblems(pool))
  throwIfInvalid(subject, problems)
  const settings = guard as GuardSettings
  return { guard: settings, policy: { retry: settings.retry, rules } }
}

/** Checks the options of a fetch. */
export function parseFetchOptions(input: FetchOptions): FetchSettings {
  const problems: string[] = []
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

/** A policy with what one request changes; throws INVALID_OPTIONS where that is wrong. */
export function mergeRequestPolicy(input: FetchRetryOptions | false, base: RequestPolicy): RequestPolicy {
  if (input === false) {
    const { maxAttempts } = NO_RETRY
    return { rules: base.rules, retry: { ...base.retry, maxAttempts, retryIf: undefined } }
  }
  const problems: string[] = []
  if (Object(input) !== input) {
    parseRetryOptions(input, RETRY_DEFAULTS, problems)
    throwIfInvalid('the request', problems)
  }
  const { rules, rest } = parseHttpRules(input, base.rules, problems)
  const retry = parseRetryOptions(rest, base.retry, problems)
  throwIfInvalid('the request', problems)
  return { rules, retry }
}

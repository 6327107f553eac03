import { isHoldfastError } from '../errors.js'
import { type FallbackInfo, type GuardOptions, type GuardSettings, readGuard } from '../guard/options.js'
import { type Rule, read, refuse, type Spec, typed } from '../options.js'
import type { PoolProtocol } from '../pool/protocol.js'
import {
  type FetchRetryOptions,
  NO_RETRY,
  RETRY_DEFAULTS,
  type RetryOptions,
  type RetryPolicy,
  readRetry,
} from '../retry/options.js'
import { poolProblems } from './check-target.js'
import type { FetchTarget } from './target.js'

/** What {@link createFetch} takes: a guard's options, and a few of its own. */
export interface FetchOptions extends Omit<GuardOptions, 'retry' | 'pool' | 'fallback'> {
  /** When and how often to send again; false: never. @defaultValue 3 attempts, exponential from 1 s, cap 30 s */
  retry?: FetchRetryOptions | false | undefined
  /** Where requests go: each attempt to one of the members. */
  pool?: PoolProtocol<FetchTarget> | undefined
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
interface Rules {
  readonly retryStatusCodes: ReadonlySet<number> | undefined
  readonly retryNonIdempotent: boolean
  readonly idempotencyKey: boolean
  /** Statuses after which any method may be sent again. */
  readonly notProcessedStatuses: ReadonlySet<number>
}

/** What a request that is sent again obeys. */
export interface RequestPolicy {
  readonly retry: RetryPolicy
  readonly rules: Rules
}

/** {@link FetchOptions} checked and filled in. */
export interface FetchSettings {
  readonly guard: GuardSettings
  readonly policy: RequestPolicy
  readonly fetch: FetchFunction | undefined
  readonly throwOnStatus: boolean
}

const statuses: Rule = [
  'an array of 408, 425, 429 and statuses from 500 to 599 (others are for retryIf)',
  (value: unknown) => value instanceof Set,
  (value) => (Array.isArray(value) && value.every(isRepeatable) ? new Set(value) : value),
]

const failureStatuses: Rule = [
  'an array of statuses from 400 to 599',
  (value: unknown) => value instanceof Set,
  (value) => (Array.isArray(value) && value.every(isFailureStatus) ? new Set(value) : value),
]

const isFailureStatus = (status: unknown): boolean =>
  Number.isInteger(status) && (status as number) >= 400 && (status as number) < 600

const isRepeatable = (status: unknown): boolean =>
  Number.isInteger(status) &&
  ([408, 425, 429].includes(status as number) || Math.floor((status as number) / 100) === 5)

const RULES: Spec = {
  retryStatusCodes: [undefined, statuses],
  retryNonIdempotent: [false, typed('boolean')],
  idempotencyKey: [false, typed('boolean')],
  notProcessedStatuses: [undefined, failureStatuses],
}

const OWN: Spec = { fetch: [undefined, typed('function')], throwOnStatus: [false, typed('boolean')] }

const NO_RULES: Rules = {
  retryStatusCodes: undefined,
  retryNonIdempotent: false,
  idempotencyKey: false,
  notProcessedStatuses: new Set(),
}

/** What HTTP adds to a guard's retrying, taken apart from the rest. */
function readRules(given: object, base: Rules, problems: string[]): { rules: Rules; rest: RetryOptions } {
  const { retryStatusCodes, retryNonIdempotent, idempotencyKey, notProcessedStatuses, ...rest } =
    given as FetchRetryOptions
  const own = { retryStatusCodes, retryNonIdempotent, idempotencyKey, notProcessedStatuses }
  return { rules: read('retry', own, base, RULES, problems), rest }
}

/** Checks what a guard and HTTP together take, or throws INVALID_OPTIONS that lists everything wrong with it. */
export function readRequests(
  what: string,
  given: Omit<FetchOptions, 'fetch' | 'throwOnStatus'>,
  problems: string[],
): { guard: GuardSettings; policy: RequestPolicy } {
  const { retry, pool } = Object(given) as FetchOptions
  const isObject = typeof retry === 'object' && retry !== null
  const { rules, rest } = isObject ? readRules(retry, NO_RULES, problems) : { rules: NO_RULES, rest: retry }
  let guard: GuardSettings | undefined
  try {
    guard = readGuard((isObject ? { ...given, retry: rest } : given) as GuardOptions)
  } catch (error) {
    if (!isHoldfastError(error, 'INVALID_OPTIONS') || error.details === undefined) throw error
    problems.push(...error.details)
  }
  problems.push(...poolProblems(pool))
  refuse(what, problems)
  const settings = guard as GuardSettings
  return { guard: settings, policy: { retry: settings.retry, rules } }
}

/** Checks the options of a fetch. */
export function readFetch(given: FetchOptions): FetchSettings {
  const problems: string[] = []
  if (Object(given) !== given || Array.isArray(given))
    return { ...readRequests('a fetch', given, problems), ...NOTHING }
  const { fetch, throwOnStatus, ...rest } = given
  const own = read('', { fetch, throwOnStatus }, NOTHING, OWN, problems)
  const what = typeof rest.name === 'string' ? `the fetch ${rest.name}` : 'a fetch'
  return { ...readRequests(what, rest, problems), ...own }
}

const NOTHING: Pick<FetchSettings, 'fetch' | 'throwOnStatus'> = { fetch: undefined, throwOnStatus: false }

/** A policy with what one request changes; throws INVALID_OPTIONS where that is wrong. */
export function policyFor(given: FetchRetryOptions | false, base: RequestPolicy): RequestPolicy {
  if (given === false) {
    const { maxAttempts } = NO_RETRY
    return { rules: base.rules, retry: { ...base.retry, maxAttempts, retryIf: undefined } }
  }
  const problems: string[] = []
  if (Object(given) !== given) {
    readRetry(given, RETRY_DEFAULTS, problems)
    refuse('the request', problems)
  }
  const { rules, rest } = readRules(given, base.rules, problems)
  const retry = readRetry(rest, base.retry, problems)
  refuse('the request', problems)
  return { rules, retry }
}

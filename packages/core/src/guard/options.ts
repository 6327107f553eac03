import { CircuitBreaker } from '../breaker/breaker.js'
import { type BreakerKey, KeyedBreakers } from '../breaker/keyed.js'
import { BREAKER_DEFAULTS, type BreakerOptions, clockRule, readBreaker } from '../breaker/options.js'
import type { Classification } from '../classify/index.js'
import { type Clock, type Random, systemClock, systemRandom } from '../clock.js'
import type { Duration } from '../duration.js'
import { deadline, either, type Rule, read, refuse, type, whole, withMethods } from '../options.js'
import { NO_RETRY, RETRY_DEFAULTS, type RetryOptions, type RetryPolicy, readRetry } from '../retry/options.js'

/** One breaker per key instead of one for the guard. */
export interface KeyedBreakerOptions extends BreakerOptions {
  /** Names the breaker of a call by its context: a host, a tenant, a model. */
  key: BreakerKey
  /** How many are kept; beyond it the least recently used closed one is forgotten. @defaultValue 10000 */
  maxKeys?: number
}

/** What a fallback is told besides the error. */
export interface FallbackInfo {
  /** The number of the last attempt. */
  readonly attempt: number
  /** The call's context. */
  readonly context: unknown
}

/** What a guard does for the calls it runs. Options are copied when the guard is made. */
export interface GuardOptions {
  /** What it is called in events, errors and sessions. */
  name?: string
  /** When and how often to try again; false: never. @defaultValue 3 attempts, exponential from 1 s, cap 30 s */
  retry?: RetryOptions | false
  /** A breaker of its own, one per key, one shared with other guards, or none. @defaultValue none */
  breaker?: BreakerOptions | KeyedBreakerOptions | CircuitBreaker | false
  /** How long an attempt, and the call with all its attempts and waits, may take. @defaultValue no deadlines */
  timeout?: { attempt?: Duration; total?: Duration }
  /** Makes a value of a failure. Skipped where the caller aborts. What it throws is thrown, with the error as its cause. */
  fallback?: (error: unknown, info: FallbackInfo) => unknown
  /** Says what kind of error this is; what it leaves out, or undefined, is for the built-in classification. */
  classify?: (error: unknown) => Partial<Classification> | undefined
  /** Where it takes its time from. @defaultValue the machine's clock */
  clock?: Clock
  /** Where it takes chance from. @defaultValue the machine's */
  random?: Random
  /** False calls straight through. @defaultValue true */
  enabled?: boolean
}

/** {@link GuardOptions} checked and filled in. */
export interface GuardSettings {
  readonly name: string | undefined
  readonly retry: RetryPolicy
  readonly breaker: CircuitBreaker | undefined
  readonly keyed: KeyedBreakers | undefined
  readonly attemptTimeout: number
  readonly totalTimeout: number
  readonly fallback: GuardOptions['fallback'] | undefined
  readonly classify: GuardOptions['classify'] | undefined
  readonly clock: Clock
  readonly random: Random
  readonly enabled: boolean
}

const object = withMethods('an object')
const off: Rule = { takes: 'false', read: (value) => (value === false ? value : undefined) }

const RULES: { readonly [K in keyof Required<GuardOptions>]: Rule } = {
  name: type('string'),
  retry: either(object, off),
  breaker: either(object, off),
  timeout: object,
  fallback: type('function'),
  classify: type('function'),
  clock: clockRule,
  random: type('function'),
  enabled: type('boolean'),
}

const DEFAULTS = {
  name: undefined as string | undefined,
  retry: {} as RetryOptions | false,
  breaker: false as NonNullable<GuardOptions['breaker']>,
  timeout: {} as object,
  fallback: undefined as GuardOptions['fallback'],
  classify: undefined as GuardOptions['classify'],
  clock: systemClock,
  random: systemRandom,
  enabled: true,
}

const NO_TIMEOUT = { attempt: Number.POSITIVE_INFINITY, total: Number.POSITIVE_INFINITY }
const KEYED = { key: type('function'), maxKeys: whole(1) }

/** Checks a guard's options, or throws INVALID_OPTIONS that lists everything wrong with them. */
export function readGuard(given: GuardOptions): GuardSettings {
  const problems: string[] = []
  const { name, retry, breaker, timeout, fallback, classify, clock, random, enabled } = read(
    '',
    given,
    DEFAULTS,
    RULES,
    problems,
  )
  const limits = read('timeout', timeout, NO_TIMEOUT, { attempt: deadline, total: deadline }, problems)
  const policy = retry === false ? NO_RETRY : readRetry('retry', retry, RETRY_DEFAULTS, problems)
  const breakers = readBreakers(breaker, name ?? '', clock, problems)
  refuse(name === undefined ? 'a guard cannot be made with these options' : `the guard ${name} cannot be made`, problems)
  return {
    name,
    retry: policy,
    ...breakers,
    attemptTimeout: limits.attempt,
    totalTimeout: limits.total,
    fallback,
    classify,
    clock,
    random,
    enabled,
  }
}

function readBreakers(
  given: NonNullable<GuardOptions['breaker']>,
  name: string,
  clock: Clock,
  problems: string[],
): Pick<GuardSettings, 'breaker' | 'keyed'> {
  if (given === false) return { breaker: undefined, keyed: undefined }
  if (given instanceof CircuitBreaker) return { breaker: given, keyed: undefined }
  const wrong: string[] = []
  const { key, maxKeys, ...options } = given as KeyedBreakerOptions
  const base = { ...BREAKER_DEFAULTS, clock }
  const settings = readBreaker('breaker', options, base, wrong)
  const keyed = read('breaker', { key, maxKeys }, { key: undefined, maxKeys: 10_000 }, KEYED, wrong)
  problems.push(...wrong)
  if (wrong.length > 0) return { breaker: undefined, keyed: undefined }
  return key === undefined
    ? { breaker: new CircuitBreaker({ id: name }, settings), keyed: undefined }
    : { breaker: undefined, keyed: new KeyedBreakers(settings, name, key, keyed.maxKeys) }
}

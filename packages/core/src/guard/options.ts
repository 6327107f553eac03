import { CircuitBreaker } from '../breaker/breaker.js'
import { type BreakerKey, KeyedBreakers } from '../breaker/keyed.js'
import { BREAKER_DEFAULTS, type BreakerOptions, clockRule, readBreaker } from '../breaker/options.js'
import type { Classification } from '../classify/index.js'
import { type Clock, type Random, systemClock, systemRandom } from '../clock.js'
import type { Duration } from '../duration.js'
import { count, deadline, either, read, refuse, type Spec, type SpecOf, standards, typed } from '../options.js'
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

const objectOrFalse = either(typed('object'), ['false', (value: unknown) => value === false])

const SPEC = {
  name: [undefined, typed('string')],
  retry: [{}, objectOrFalse],
  breaker: [false, objectOrFalse],
  timeout: [{}, typed('object')],
  fallback: [undefined, typed('function')],
  classify: [undefined, typed('function')],
  clock: [systemClock, clockRule],
  random: [systemRandom, typed('function')],
  enabled: [true, typed('boolean')],
} satisfies SpecOf<GuardOptions>

const TIMEOUT: Spec = { attempt: [Number.POSITIVE_INFINITY, deadline], total: [Number.POSITIVE_INFINITY, deadline] }
const KEYED: Spec = { key: [undefined, typed('function')], maxKeys: [10_000, count] }

/** Checks a guard's options, or throws INVALID_OPTIONS that lists everything wrong with them. */
export function readGuard(given: GuardOptions): GuardSettings {
  const problems: string[] = []
  const options = read('', given, standards(SPEC) as Required<GuardOptions>, SPEC, problems)
  const { name, retry, breaker, timeout, clock } = options
  const limits = read('timeout', timeout, standards(TIMEOUT) as Limits, TIMEOUT, problems)
  const policy = retry === false ? NO_RETRY : readRetry(retry, RETRY_DEFAULTS, problems)
  const breakers = breaker && readBreakers(breaker, name ?? '', clock, problems)
  refuse(name === undefined ? 'a guard' : `the guard ${name}`, problems)
  return {
    ...options,
    retry: policy,
    breaker: undefined,
    keyed: undefined,
    ...breakers,
    attemptTimeout: limits.attempt,
    totalTimeout: limits.total,
  }
}

type Limits = { attempt: number; total: number }

function readBreakers(
  given: object,
  name: string,
  clock: Clock,
  problems: string[],
): Partial<Pick<GuardSettings, 'breaker' | 'keyed'>> {
  if (given instanceof CircuitBreaker) return { breaker: given }
  const { key, maxKeys, ...options } = given as KeyedBreakerOptions
  const settings = readBreaker('breaker', options, { ...BREAKER_DEFAULTS, clock }, problems)
  const keys = read('breaker', { key, maxKeys }, { maxKeys: 10_000 }, KEYED, problems)
  return key === undefined
    ? { breaker: new CircuitBreaker({ id: settings.id || name }, settings) }
    : { keyed: new KeyedBreakers(settings, name, key, keys.maxKeys) }
}

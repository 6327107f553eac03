import { CircuitBreaker } from '../breaker/breaker.js'
import { type BreakerKey, KeyedBreakers } from '../breaker/keyed.js'
import { BREAKER_DEFAULTS, type BreakerOptions, parseBreakerOptions } from '../breaker/options.js'
import { Bulkhead, type BulkheadOptions } from '../bulkhead/bulkhead.js'
import type { Classification } from '../classify/index.js'
import { type Clock, type Random, systemClock, systemRandom } from '../clock.js'
import type { Duration } from '../duration.js'
import {
  anyOf,
  clockOption,
  defaultsOf,
  durationOrInfinity,
  type Filled,
  nonNegativeDuration,
  nonNegativeInteger,
  type OptionSpec,
  type OptionSpecOf,
  ofType,
  optionProblem,
  parseOptions,
  positiveInteger,
  throwIfInvalid,
} from '../options.js'
import type { MemberPool } from '../pool/members/member-pool.js'
import { reportOnce } from '../report.js'
import type { RetryBudget } from '../retry/budget.js'
import {
  type CompiledRetryPolicy,
  type FetchRetryOptions,
  NO_RETRY,
  parseRetryOptions,
  RETRY_DEFAULTS,
} from '../retry/options.js'

/** One breaker per key instead of one for the guard. */
export interface KeyedBreakerOptions extends BreakerOptions {
  /** Names the breaker of a call by its context: a host, a tenant, a model. */
  key: BreakerKey
  /** How many are kept; beyond it the least recently used closed one is forgotten. @defaultValue 10000 */
  maxKeys?: number | undefined
}

/** What a fallback is told besides the error. */
export interface FallbackInfo {
  /** The number of the last attempt. */
  readonly attempt: number
  /** The call's context. */
  readonly context: unknown
}

/** When an attempt that has not answered is joined by another. */
export interface HedgeOptions {
  /** How long to wait for an answer; a failure does not wait. */
  delay: Duration
  /** How many calls may join the first. @defaultValue 1 */
  max?: number | undefined
}

/**
 * What a guard does for the calls it runs. Options are copied when the guard is made. `F` is what the fallback gives; it is
 * inferred where options are written at the call of `guard`, and `never` stands for a guard without one.
 */
export interface GuardOptions<F = never> {
  /** What it is called in events, errors and sessions. */
  name?: string | undefined
  /** When and how often to try again; false: never. @defaultValue 3 attempts, exponential from 1 s, cap 30 s */
  retry?: FetchRetryOptions | false | undefined
  /** A breaker of its own, one per key, one shared with other guards, or none. @defaultValue none */
  breaker?: BreakerOptions | KeyedBreakerOptions | CircuitBreaker | false | undefined
  /** How long an attempt, and the call with all its attempts and waits, may take. @defaultValue no deadlines */
  timeout?: { attempt?: Duration | undefined; total?: Duration | undefined } | undefined
  /** How many calls may run at a time, and how many may wait. @defaultValue no limit */
  bulkhead?: BulkheadOptions | undefined
  /** How much retrying there may be, over all calls of all guards that share it. @defaultValue no limit */
  budget?: RetryBudget | undefined
  /** Where calls go: each attempt to one of the pool's members, another one where there is one. */
  pool?: MemberPool | undefined
  /** A second call where the first takes long, and the first answer wins. @defaultValue none */
  hedge?: HedgeOptions | undefined
  /** Makes a value of a failure. Skipped where the caller aborts. What it throws is thrown, with the error as its cause. */
  fallback?: ((error: unknown, info: FallbackInfo) => F | PromiseLike<F>) | undefined
  /** Says what kind of error this is; what it leaves out, or undefined, is for the built-in classification. */
  classify?: ((error: unknown) => Partial<Classification> | undefined) | undefined
  /** Where it takes its time from. @defaultValue the machine's clock */
  clock?: Clock | undefined
  /** Where it takes chance from. @defaultValue the machine's */
  random?: Random | undefined
  /** False calls straight through, and does not even follow the caller's signal. @defaultValue true */
  enabled?: boolean | undefined
}

/** {@link GuardOptions} checked and filled in. */
export interface GuardSettings {
  readonly name: string | undefined
  readonly retry: CompiledRetryPolicy
  readonly breaker: CircuitBreaker | undefined
  readonly keyed: KeyedBreakers | undefined
  readonly attemptTimeout: number
  readonly totalTimeout: number
  readonly bulkhead: Bulkhead | undefined
  readonly budget: RetryBudget | undefined
  readonly pool: MemberPool | undefined
  readonly hedge: { readonly delay: number; readonly max: number } | undefined
  readonly fallback: GuardOptions<unknown>['fallback'] | undefined
  readonly classify: GuardOptions['classify'] | undefined
  readonly clock: Clock
  readonly random: Random
  readonly enabled: boolean
}

const objectOrFalse = anyOf(ofType('object'), ['false', (value: unknown) => value === false])

const GUARD_OPTIONS = {
  name: [undefined, ofType('string')],
  retry: [{}, objectOrFalse],
  breaker: [false, objectOrFalse],
  timeout: [{}, ofType('object')],
  bulkhead: [undefined, ofType('object')],
  budget: [undefined, ['a RetryBudget', (value: RetryBudget) => value?.withdraw]],
  pool: [undefined, ['a Pool', (value: MemberPool) => value?.select]],
  hedge: [undefined, ofType('object')],
  fallback: [undefined, ofType('function')],
  classify: [undefined, ofType('function')],
  clock: [systemClock, clockOption],
  random: [systemRandom, ofType('function')],
  enabled: [true, ofType('boolean')],
} satisfies OptionSpecOf<GuardOptions>

const TIMEOUT_OPTIONS: OptionSpec = {
  attempt: [Number.POSITIVE_INFINITY, durationOrInfinity],
  total: [Number.POSITIVE_INFINITY, durationOrInfinity],
}
const KEYED_BREAKER_OPTIONS: OptionSpec = {
  key: [undefined, ofType('function')],
  maxKeys: [10_000, positiveInteger],
}

const BULKHEAD_OPTIONS: OptionSpec = { limit: [undefined, positiveInteger], queue: [0, nonNegativeInteger] }
const HEDGE_OPTIONS: OptionSpec = { delay: [undefined, nonNegativeDuration], max: [1, positiveInteger] }

/** Checks a guard's options, or throws INVALID_OPTIONS that lists everything wrong with them. */
export function parseGuardOptions(input: GuardOptions<unknown>): GuardSettings {
  const problems: string[] = []
  const options = parseOptions(
    '',
    input,
    defaultsOf(GUARD_OPTIONS) as Filled<GuardOptions<unknown>>,
    GUARD_OPTIONS,
    problems,
  )
  const { name, retry, breaker, timeout, clock, bulkhead, hedge } = options
  const timeouts = parseOptions(
    'timeout',
    timeout,
    defaultsOf(TIMEOUT_OPTIONS) as Timeouts,
    TIMEOUT_OPTIONS,
    problems,
  )
  const policy = retry === false ? NO_RETRY : parseRetryOptions(retry, RETRY_DEFAULTS, problems)
  const breakers = breaker && createBreakers(breaker, name ?? '', clock, problems)
  const bulkheadOptions = bulkhead && parseRequired('bulkhead', bulkhead, BULKHEAD_OPTIONS, 'limit', problems)
  const hedgeOptions = hedge && parseRequired('hedge', hedge, HEDGE_OPTIONS, 'delay', problems)
  throwIfInvalid(name === undefined ? 'a guard' : `the guard ${name}`, problems)
  return {
    ...options,
    random: options.random === systemRandom ? systemRandom : safeRandom(options.random),
    retry: policy,
    breaker: undefined,
    keyed: undefined,
    ...breakers,
    attemptTimeout: timeouts.attempt,
    totalTimeout: timeouts.total,
    bulkhead:
      bulkheadOptions && new Bulkhead(bulkheadOptions.limit as number, bulkheadOptions.queue as number),
    hedge: hedgeOptions as GuardSettings['hedge'],
  }
}

/**
 * Chance that never costs a call its result: a function that throws is reported once and stands for 0.5, and so does a
 * number out of range.
 */
function safeRandom(random: Random): Random {
  return () => {
    try {
      const chance = random()
      return chance >= 0 && chance <= 1 ? chance : 0.5
    } catch (error) {
      reportOnce('random', random, error)
      return 0.5
    }
  }
}

/** Reads options of which one must be given. */
function parseRequired(
  path: string,
  input: object,
  spec: OptionSpec,
  name: string,
  problems: string[],
): Record<string, unknown> {
  const options = parseOptions(path, input, defaultsOf(spec) as Record<string, unknown>, spec, problems)
  if ((input as Record<string, unknown>)[name] === undefined)
    problems.push(optionProblem(`${path}.${name}`, spec[name]?.[1][0] as string, undefined))
  return options
}

type Timeouts = { attempt: number; total: number }

function createBreakers(
  input: object,
  name: string,
  clock: Clock,
  problems: string[],
): Partial<Pick<GuardSettings, 'breaker' | 'keyed'>> {
  if (input instanceof CircuitBreaker) return { breaker: input }
  const { key, maxKeys, ...options } = input as KeyedBreakerOptions
  const settings = parseBreakerOptions('breaker', options, { ...BREAKER_DEFAULTS, clock }, problems)
  const keys = parseOptions('breaker', { key, maxKeys }, { maxKeys: 10_000 }, KEYED_BREAKER_OPTIONS, problems)
  return key === undefined
    ? { breaker: new CircuitBreaker({ id: settings.id || name }, settings) }
    : { keyed: new KeyedBreakers(settings, name, key, keys.maxKeys) }
}

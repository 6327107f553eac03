import { CircuitBreaker } from '../breaker/breaker.js'
import { type KeyedBreakerOptions, KeyedBreakers } from '../breaker/keyed.js'
import { BREAKER_DEFAULTS, type BreakerOptions, parseBreakerOptions } from '../breaker/options.js'
import { Bulkhead, type BulkheadOptions } from '../bulkhead/bulkhead.js'
import type { Classification } from '../classify/index.js'
import { type Clock, type Random, systemClock, systemRandom } from '../clock.js'
import type { Duration } from '../duration.js'
import type { ExecutionSettings } from '../execution/executor.js'
import type { CallTimeouts } from '../execution/hooks.js'
import type { FallbackInfo } from '../fallback/fallback.js'
import type { HedgeOptions, HedgeSettings } from '../hedge/hedge.js'
import {
  anyOf,
  clockOption,
  defaultsOf,
  durationOrInfinity,
  type Filled,
  nonNegativeDuration,
  nonNegativeInteger,
  type OptionProblem,
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
import { type FetchRetryOptions, NO_RETRY, parseRetryOptions, RETRY_DEFAULTS } from '../retry/options.js'

/** How long an attempt, and a call with all its attempts and delays, can take. Infinity means no time limit. */
export interface TimeoutOptions {
  /** The time limit of one attempt. @defaultValue Infinity */
  attempt?: Duration | undefined
  /** The time limit of the whole call. @defaultValue Infinity */
  total?: Duration | undefined
}

/**
 * The options of a guard. Options are copied when the guard is created. `F` is the result type of the
 * fallback: it is inferred if the options are written in the call of `guard`, and is `never` for a guard without a fallback.
 */
export interface GuardOptions<F = never> {
  /** The name of the guard in events, errors and sessions. */
  name?: string | undefined
  /** When and how often a call is retried; false: never. @defaultValue 3 attempts, exponential from 1 s, cap 30 s */
  retry?: FetchRetryOptions | false | undefined
  /** Options of a breaker of its own or of one breaker per key, a breaker shared with other guards, or false. @defaultValue none */
  breaker?: BreakerOptions | KeyedBreakerOptions | CircuitBreaker | false | undefined
  /** How long an attempt, and the call with all its attempts and delays, can take. @defaultValue no deadlines */
  timeout?: TimeoutOptions | undefined
  /** How many calls can run at the same time, and how many can wait. @defaultValue no limit */
  bulkhead?: BulkheadOptions | undefined
  /** Limits the retries of all calls of all guards that share the budget. @defaultValue no limit */
  budget?: RetryBudget | undefined
  /** The pool that selects a member for each attempt, an untried member if one is available. */
  pool?: MemberPool | undefined
  /** Starts another parallel call if the first takes long; the first success wins. @defaultValue none */
  hedge?: HedgeOptions | undefined
  /**
   * Returns a value in place of the error. Not called if the caller aborts. An error that it throws is thrown, with the
   * original error as its cause.
   */
  fallback?: ((error: unknown, info: FallbackInfo) => F | PromiseLike<F>) | undefined
  /** Classifies an error. Fields that it leaves out, or undefined, are filled in by the built-in classification. */
  classify?: ((error: unknown) => Partial<Classification> | undefined) | undefined
  /** The clock. @defaultValue the system clock */
  clock?: Clock | undefined
  /** The source of random numbers. @defaultValue `Math.random` */
  random?: Random | undefined
  /** False calls the function directly, without any strategy and without the caller's signal. @defaultValue true */
  enabled?: boolean | undefined
}

/** {@link GuardOptions}, checked and with defaults. */
export interface GuardSettings extends ExecutionSettings {
  readonly breaker: CircuitBreaker | undefined
  readonly keyed: KeyedBreakers | undefined
  readonly classify: GuardOptions['classify'] | undefined
  readonly enabled: boolean
}

export const objectOrFalse = anyOf(ofType('object'), ['false', (value: unknown) => value === false])

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
  attempt: [Infinity, durationOrInfinity],
  total: [Infinity, durationOrInfinity],
}
const NO_TIMEOUTS: CallTimeouts = { attemptTimeout: Infinity, totalTimeout: Infinity }
/** The checks of these options; `createBreakers` has the default of `maxKeys`. */
const KEYED_BREAKER_OPTIONS: OptionSpec = {
  key: [undefined, ofType('function')],
  maxKeys: [undefined, positiveInteger],
}

/** The defaults of the options of a bulkhead and of a hedge that are not required. */
const DEFAULT_QUEUE = 0
const DEFAULT_HEDGES = 1
export const BULKHEAD_DEFAULTS = { queue: DEFAULT_QUEUE } as const
export const HEDGE_DEFAULTS = { max: DEFAULT_HEDGES } as const

const BULKHEAD_OPTIONS: OptionSpec = {
  limit: [undefined, positiveInteger],
  queue: [DEFAULT_QUEUE, nonNegativeInteger],
  maxWait: [Infinity, nonNegativeDuration],
}
const HEDGE_OPTIONS: OptionSpec = {
  delay: [undefined, nonNegativeDuration],
  max: [DEFAULT_HEDGES, positiveInteger],
}

/**
 * Checks the options of a guard.
 *
 * @throws INVALID_OPTIONS that lists every problem
 */
export function parseGuardOptions(input: GuardOptions<unknown>): GuardSettings {
  const problems: OptionProblem[] = []
  const options = parseOptions(
    '',
    input,
    defaultsOf(GUARD_OPTIONS) as Filled<GuardOptions<unknown>>,
    GUARD_OPTIONS,
    problems,
  )
  const { name, retry, breaker, timeout, clock, bulkhead, hedge } = options
  const timeouts = parseTimeouts(timeout, NO_TIMEOUTS, problems)
  const policy = retry === false ? NO_RETRY : parseRetryOptions(retry, RETRY_DEFAULTS, problems)
  const breakers = breaker && createBreakers(breaker, name ?? '', clock, problems)
  const bulkheadOptions =
    bulkhead &&
    parseRequired<Filled<BulkheadOptions>>('bulkhead', bulkhead, BULKHEAD_OPTIONS, 'limit', problems)
  const hedgeOptions = hedge && parseRequired<HedgeSettings>('hedge', hedge, HEDGE_OPTIONS, 'delay', problems)
  throwIfInvalid(name === undefined ? 'a guard' : `the guard ${name}`, problems)
  return {
    ...options,
    random: options.random === systemRandom ? systemRandom : safeRandom(options.random),
    retry: policy,
    breaker: undefined,
    keyed: undefined,
    ...breakers,
    ...timeouts,
    bulkhead: bulkheadOptions && createBulkhead(bulkheadOptions),
    hedge: hedgeOptions,
  }
}

/**
 * Wraps the user's `random` so that it cannot fail a call: a number out of range is replaced by 0.5, and so is an error, which
 * is reported once.
 */
function safeRandom(random: Random): Random {
  return () => {
    try {
      const value = random()
      return value >= 0 && value <= 1 ? value : 0.5
    } catch (error) {
      reportOnce('random', random, error)
      return 0.5
    }
  }
}

const createBulkhead = ({ limit, queue, maxWait }: Filled<BulkheadOptions>): Bulkhead =>
  new Bulkhead(limit, queue, maxWait as number)

/** Checks options of which one, `name`, is required. */
function parseRequired<T extends object>(
  path: string,
  input: object,
  spec: OptionSpec,
  name: keyof T & string,
  problems: OptionProblem[],
): T {
  const options = parseOptions(path, input, defaultsOf(spec) as T, spec, problems)
  if ((input as Record<string, unknown>)[name] === undefined)
    problems.push(optionProblem(`${path}.${name}`, spec[name]?.[1][0] as string, undefined))
  return options
}

/** Checks the timeouts of a guard or of one call; those of `base` are kept where one is left out. */
export function parseTimeouts(
  input: TimeoutOptions | false,
  { attemptTimeout, totalTimeout }: CallTimeouts,
  problems: OptionProblem[],
): CallTimeouts {
  if (input === false) return NO_TIMEOUTS
  const base = { attempt: attemptTimeout, total: totalTimeout }
  const { attempt, total } = parseOptions('timeout', input, base, TIMEOUT_OPTIONS, problems)
  return { attemptTimeout: attempt, totalTimeout: total }
}

function createBreakers(
  input: object,
  name: string,
  clock: Clock,
  problems: OptionProblem[],
): Partial<Pick<GuardSettings, 'breaker' | 'keyed'>> {
  if (input instanceof CircuitBreaker) return { breaker: input }
  const { key, maxKeys, ...options } = input as KeyedBreakerOptions
  const settings = parseBreakerOptions('breaker', options, { ...BREAKER_DEFAULTS, clock }, problems)
  const keys = parseOptions('breaker', { key, maxKeys }, { maxKeys: 10_000 }, KEYED_BREAKER_OPTIONS, problems)
  return key === undefined
    ? { breaker: new CircuitBreaker({ id: settings.id || name }, settings) }
    : { keyed: new KeyedBreakers(settings, name, key, keys.maxKeys) }
}

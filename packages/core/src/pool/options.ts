import {
  BREAKER_DEFAULTS,
  type BreakerOptions,
  type BreakerSettings,
  parseBreakerOptions,
} from '../breaker/options.js'
import { type Clock, type Random, systemClock, systemRandom } from '../clock.js'
import {
  anyOf,
  clockOption,
  defaultsOf,
  type Filled,
  fraction,
  type OptionProblem,
  type OptionRule,
  type OptionSpecOf,
  ofType,
  oneOf,
  optionProblem,
  parseOptions,
} from '../options.js'
import type { Member } from './members/member.js'
import type { Chooser } from './strategies/function.js'
import { STRATEGY_NAMES, type StrategyName } from './strategies/index.js'

/** The outcome of an attempt, as given to `memberFault`. */
export interface MemberOutcome<T = unknown> {
  /** The member that the attempt was sent to. */
  readonly member: Member<T>
  /** The returned value; absent if the function threw. */
  readonly value?: unknown
  /** The thrown error; absent if the function returned. */
  readonly error?: unknown
  /** The HTTP status of the error or response, if it has one. */
  readonly statusCode?: number
}

/** Options of a pool. They are copied when the pool is created; the member objects are used as given. */
export interface PoolOptions<T = unknown> {
  /** The name of the pool in errors and in the ids of its breakers. */
  id: string
  /** The initial members. @defaultValue none */
  members?: readonly Member<T>[] | undefined
  /** How a member is selected: a strategy name, or a function of the available members and the call's context. @defaultValue 'round_robin' */
  strategy?: StrategyName | Chooser<T> | undefined
  /** Options of the breaker that each member gets; a member can override them. @defaultValue the defaults of a breaker */
  breaker?: BreakerOptions | undefined
  /** The fraction of members, 0 to 1, that can be ejected by open breakers at once; further open breakers are ignored. @defaultValue no limit */
  maxEjected?: number | undefined
  /** When less than this fraction is available, selection is among all members that are not drained. @defaultValue never */
  panicThreshold?: number | undefined
  /** HTTP statuses that are caused by the member and not by the request, such as 403, 407, 429 and 451 of proxies. @defaultValue none */
  memberFaults?: readonly number[] | undefined
  /** Returns whether an outcome is caused by the member and not by the request. */
  memberFault?: ((outcome: MemberOutcome<T>) => boolean) | undefined
  /** The source of time. @defaultValue the system clock */
  clock?: Clock | undefined
  /** The source of random numbers. @defaultValue the system's */
  random?: Random | undefined
}

/** The options that can be replaced in a running pool by `updateStrategy`. */
export interface PoolUpdate extends Pick<PoolOptions, 'maxEjected' | 'memberFaults'> {
  strategy?: StrategyName | undefined
}

/** {@link PoolOptions}, validated and with defaults. */
export interface PoolSettings<T> {
  readonly id: string
  readonly members: readonly Member<T>[]
  strategy: StrategyName | Chooser<T>
  breaker: BreakerSettings
  maxEjected: number | undefined
  readonly panicThreshold: number | undefined
  memberFaults: ReadonlySet<number>
  readonly memberFault: PoolOptions<T>['memberFault'] | undefined
  readonly clock: Clock
  readonly random: Random
}

/** An id becomes part of the URI-encoded ids of breakers, and a lone surrogate cannot be encoded. */
const nonEmptyString: OptionRule = [
  'a string that is not empty',
  (value: unknown) =>
    typeof value === 'string' &&
    value !== '' &&
    !(/[\ud800-\udfff]/.test(value) && /\p{Surrogate}/u.test(value)),
]

const httpStatuses: OptionRule = [
  'an array of HTTP statuses',
  (value: unknown) => Array.isArray(value) && value.every((item) => item >= 100 && item < 600),
  (value) => (Array.isArray(value) ? [...value] : value),
]

const memberArray: OptionRule = ['an array of members', Array.isArray]

const numberUpTo = (max: number): OptionRule => [
  `a number from 0 to ${max}`,
  (value: unknown) => typeof value === 'number' && value >= 0 && value <= max,
]

const POOL_SPEC = {
  id: [undefined, nonEmptyString],
  members: [[], memberArray],
  strategy: ['round_robin', anyOf(oneOf(STRATEGY_NAMES), ofType('function'))],
  breaker: [{}, ofType('object')],
  maxEjected: [undefined, fraction],
  panicThreshold: [undefined, fraction],
  memberFaults: [[], httpStatuses],
  memberFault: [undefined, ofType('function')],
  clock: [systemClock, clockOption],
  random: [systemRandom, ofType('function')],
} satisfies OptionSpecOf<PoolOptions>

const stringArray: OptionRule = [
  'an array of strings',
  (value: unknown) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
]

const MEMBER_SPEC = {
  id: [undefined, nonEmptyString],
  value: [undefined, ['anything', () => true]],
  weight: [1, numberUpTo(1e9)],
  region: [undefined, ofType('string')],
  cost: [0, numberUpTo(1e15)],
  tags: [[], stringArray],
  metadata: [undefined, ofType('object')],
  breaker: [undefined, ofType('object')],
} satisfies OptionSpecOf<Member>

const POOL_DEFAULTS = defaultsOf(POOL_SPEC) as Filled<PoolOptions>
const NO_OPTIONS = Object.freeze({})

/** Validates the options of a pool, except for the members. */
export function parsePoolOptions<T>(input: PoolOptions<T>, problems: OptionProblem[]): PoolSettings<T> {
  const options = parseOptions('', input, POOL_DEFAULTS as Filled<PoolOptions<T>>, POOL_SPEC, problems)
  if (options.id === undefined && input?.id === undefined)
    problems.push(optionProblem('id', nonEmptyString[0], undefined))
  const { clock, memberFaults } = options
  return {
    ...options,
    breaker: parseBreakerOptions('breaker', options.breaker, { ...BREAKER_DEFAULTS, clock }, problems),
    memberFaults: new Set(memberFaults),
  }
}

function isValidMember(input: Member): boolean {
  if (typeof input !== 'object' || input === null) return false
  for (const option in input) {
    const value = input[option as keyof Member]
    const rule = Object.hasOwn(MEMBER_SPEC, option) ? MEMBER_SPEC[option as keyof Member][1] : undefined
    if (value !== undefined && !rule?.[1](value as never)) return false
  }
  return true
}

/** Validates a member and returns its own breaker settings, if any. `isTaken` returns whether an id is in use. */
export function parseMember(
  path: string,
  input: Member,
  defaults: BreakerSettings,
  isTaken: (id: string) => boolean,
  problems: OptionProblem[],
): BreakerSettings | undefined {
  // A pool can have many members, and this check is faster than parsing the options.
  if (!isValidMember(input)) parseOptions(path, input, NO_OPTIONS, MEMBER_SPEC, problems)
  const { id, breaker } = Object(input) as Member
  if (id === undefined) problems.push(optionProblem(`${path}.id`, nonEmptyString[0], undefined))
  else if (isTaken(id)) problems.push(optionProblem(`${path}.id`, 'an id that no other member has', id))
  return Object(breaker) !== breaker
    ? undefined
    : parseBreakerOptions(`${path}.breaker`, breaker as object, defaults, problems)
}

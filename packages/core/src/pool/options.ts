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

/** How an attempt ended, as `memberFault` sees it. */
export interface MemberOutcome<T = unknown> {
  /** The member it went to. */
  readonly member: Member<T>
  /** What it returned; absent where it threw. */
  readonly value?: unknown
  /** What it threw; absent where it returned. */
  readonly error?: unknown
  /** The HTTP status behind it, where there is one. */
  readonly statusCode?: number
}

/** What a pool is made of. Options are copied when it is made; members are kept as they are given. */
export interface PoolOptions<T = unknown> {
  /** What it is called in errors and in the ids of its breakers. */
  id: string
  /** Who is in it at first. @defaultValue none */
  members?: readonly Member<T>[] | undefined
  /** How a member is chosen: a word, or a function of those that may be chosen and the call's context. @defaultValue 'round_robin' */
  strategy?: StrategyName | Chooser<T> | undefined
  /** When a member is set aside, and for how long; members may have settings of their own. @defaultValue a breaker's defaults */
  breaker?: BreakerOptions | undefined
  /** The share of members, 0 to 1, that may be set aside at once; openings beyond it change no choice. @defaultValue no limit */
  maxEjected?: number | undefined
  /** Where a smaller share than this is available, the choice is among all that are not drained. @defaultValue never */
  panicThreshold?: number | undefined
  /** Statuses that speak of the member and not of the request, such as 403, 407, 429 and 451 of proxies. @defaultValue none */
  memberFaults?: readonly number[] | undefined
  /** Says whether an outcome speaks of the member and not of the request. */
  memberFault?: ((outcome: MemberOutcome<T>) => boolean) | undefined
  /** Where it takes its time from. @defaultValue the machine's clock */
  clock?: Clock | undefined
  /** Where it takes chance from. @defaultValue the machine's */
  random?: Random | undefined
}

/** What may be other in a pool that is in use; its breakers are reconfigured, and its members come and go. */
export interface PoolUpdate extends Pick<PoolOptions, 'maxEjected' | 'memberFaults'> {
  strategy?: StrategyName | undefined
}

/** {@link PoolOptions} checked and filled in. */
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

/** Ids go into the ids of breakers, which are encoded: half a character cannot be. */
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
  strategy: ['round_robin', anyOf(oneOf(...STRATEGY_NAMES), ofType('function'))],
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

/** Checks the options of a pool but for its members. */
export function parsePoolOptions<T>(input: PoolOptions<T>, problems: string[]): PoolSettings<T> {
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

/** Checks a member, and gives the breaker settings that it has of its own. `isTaken` tells which ids there are. */
export function parseMember(
  path: string,
  input: Member,
  defaults: BreakerSettings,
  isTaken: (id: string) => boolean,
  problems: string[],
): BreakerSettings | undefined {
  // Pools have many members, and a look at each is quicker than reading it.
  if (!isValidMember(input)) parseOptions(path, input, NO_OPTIONS, MEMBER_SPEC, problems)
  const { id, breaker } = Object(input) as Member
  if (id === undefined) problems.push(optionProblem(`${path}.id`, nonEmptyString[0], undefined))
  else if (isTaken(id)) problems.push(optionProblem(`${path}.id`, 'an id that no other member has', id))
  return Object(breaker) !== breaker
    ? undefined
    : parseBreakerOptions(`${path}.breaker`, breaker as object, defaults, problems)
}

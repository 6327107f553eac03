import type { Attempt, Clock, Duration, GuardOptions, Pool, RetryOptions, RunOptions } from 'holdfast'
import type { FetchRetryOptions } from 'holdfast/http'
import { parseDuration, systemClock } from 'holdfast/internal'
import { createOptionsError } from '../errors.js'
import { type Resolve, resolveBySystem } from '../targets/target-policy.js'

/** Somebody who may use the proxy. */
export interface ProxyUser {
  /** The name, without parameters. */
  readonly name: string
  /** The password. */
  readonly password: string
}

/** What a client's user name says about its call, for the strategies `sticky` and `region`. */
export interface ProxyContext {
  /** Calls of one session stay with one member. */
  readonly session?: string
  /** Where the member should be. */
  readonly region?: string
}

/** A call that is to run under a guard. */
export interface ProxyCall {
  /** A plain request, which is sent and answered, or a tunnel that is to stand. */
  readonly kind: 'request' | 'tunnel'
  /** The method; CONNECT for a tunnel. */
  readonly method: string
  /** Name and port of the target. */
  readonly host: string
  /** What the header `x-holdfast-policy` says. */
  readonly policy: string | undefined
  /** The name of the user, without parameters, where there are users. */
  readonly user: string | undefined
  /** The parameters of the user name. */
  readonly context: ProxyContext
}

/** What runs a call: a guard of `holdfast`, or anything that runs functions in the same way. */
export interface ProxyGuard {
  /**
   * Runs a call. For one that may not be sent again once it was, `options.retry.abortOn` has a predicate that is true
   * from then on, of an error or of an answer.
   */
  run<T>(fn: (attempt: Attempt) => T | PromiseLike<T>, options?: RunOptions): Promise<T>
  /** Whether methods such as POST may be sent again though they may have arrived. Absent: what the proxy's option says. */
  retryNonIdempotent?(): boolean | PromiseLike<boolean>
}

/** How one policy retries: what a guard takes, and what is HTTP's own. */
export interface ProxyRetryOptions
  extends RetryOptions,
    Pick<FetchRetryOptions, 'retryStatusCodes' | 'retryNonIdempotent'> {}

/** A policy that clients may name: options of a guard, whose retrying knows statuses and methods besides. */
export interface ProxyPolicy extends Omit<GuardOptions, 'retry'> {
  /** When and how often to send again; false: never. */
  retry?: ProxyRetryOptions | false | undefined
}

/** What a forward proxy is made of. */
export interface ProxyOptions {
  /** The proxies to rotate over. @defaultValue none: it connects to targets itself */
  pool?: Pool<unknown>
  /** The policy for each id that `x-holdfast-policy` may name. @defaultValue none */
  policies?: Readonly<Record<string, ProxyPolicy>>
  /** Gives the guard for a call, in place of `policies` and the defaults. It may throw POLICY_NOT_FOUND. */
  guard?: (call: ProxyCall) => ProxyGuard
  /** Whether methods such as POST may be sent again though they may have arrived; a policy may say otherwise. @defaultValue false */
  retryNonIdempotent?: boolean
  /** Where it listens. Anything but loopback needs users. @defaultValue '127.0.0.1' */
  host?: string
  /** Its port; 0 takes a free one. @defaultValue 8080 */
  port?: number
  /** Who may use it; where there are none, everybody who can reach it. @defaultValue none */
  users?: readonly ProxyUser[]
  /** Whether private, loopback, link-local and metadata targets may be gone to. @defaultValue false */
  allowPrivateTargets?: boolean
  /** The ports that CONNECT may open tunnels to, such as [443]; an empty list allows none. @defaultValue any */
  connectPorts?: readonly number[]
  /** How many connections of clients there may be; more are closed at once. @defaultValue 10000 */
  maxConnections?: number
  /** How long a tunnel, a kept connection or a body may be silent. @defaultValue '2m' */
  idleTimeout?: Duration
  /** How long a client may take for the head of a request. @defaultValue '10s' */
  headTimeout?: Duration
  /** How long connecting to a target may take where there is no pool. @defaultValue '10s' */
  connectTimeout?: Duration
  /** How long an answer may let wait once the request is sent. @defaultValue '60s' */
  responseTimeout?: Duration
  /** The most bytes in the head of a request or of a response. @defaultValue 65536 */
  maxHeaderSize?: number
  /**
   * How many processes serve connections, for machines with several cores. With 1 it is this process; with more, `resolve`
   * and `clock` cannot be given. @defaultValue 1
   */
  workers?: number
  /** Resolves names, to all their addresses. @defaultValue the operating system */
  resolve?: Resolve
  /** Where it takes its time from. @defaultValue the machine's clock */
  clock?: Clock
}

/** {@link ProxyOptions} checked and filled in. */
export interface ProxySettings
  extends Required<Omit<ProxyOptions, 'pool' | 'guard' | 'connectPorts' | DurationOption>>,
    Pick<ProxyOptions, 'pool' | 'guard' | 'connectPorts'>,
    Readonly<Record<DurationOption, number>> {}

type DurationOption = 'idleTimeout' | 'headTimeout' | 'connectTimeout' | 'responseTimeout'

/** The defaults of {@link ProxyOptions}. */
export const PROXY_DEFAULTS = Object.freeze({
  policies: Object.freeze({}),
  retryNonIdempotent: false,
  host: '127.0.0.1',
  port: 8080,
  users: Object.freeze([]),
  allowPrivateTargets: false,
  maxConnections: 10_000,
  idleTimeout: 120_000,
  headTimeout: 10_000,
  connectTimeout: 10_000,
  responseTimeout: 60_000,
  maxHeaderSize: 65_536,
  workers: 1,
  resolve: resolveBySystem,
  clock: systemClock,
})

type ProxyOptionRule = readonly [
  takes: string,
  fits: (value: unknown) => boolean,
  convert?: (value: never) => unknown,
]

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
const integerBetween = (min: number, max: number): ProxyOptionRule => [
  `a whole number from ${min} to ${max}`,
  (value) => Number.isInteger(value) && (value as number) >= min && (value as number) <= max,
]
const positiveDuration: ProxyOptionRule = [
  "a duration above 0, in milliseconds or as '500ms', '30s', '5m'",
  (value) => parseDuration(value as Duration) > 0 && parseDuration(value as Duration) < 2 ** 31,
  parseDuration,
]
const anyBoolean: ProxyOptionRule = ['true or false', (value) => typeof value === 'boolean']
const anyFunction: ProxyOptionRule = ['a function', (value) => typeof value === 'function']

const isProxyUser = (user: unknown): boolean => {
  const { name, password } = Object(user) as Partial<ProxyUser>
  return (
    typeof name === 'string' &&
    name !== '' &&
    !name.includes(':') &&
    typeof password === 'string' &&
    password !== ''
  )
}

/** As many as the file takes. */
const MAX_WORKERS = 256

const OPTION_RULES: { readonly [K in keyof ProxyOptions]-?: ProxyOptionRule } = {
  pool: ['a Pool', (value) => isObject(value) && 'select' in value],
  policies: ['an object of guard options by id', isObject],
  guard: anyFunction,
  retryNonIdempotent: anyBoolean,
  host: ['a name or address', (value) => typeof value === 'string' && value !== ''],
  port: integerBetween(0, 65_535),
  users: [
    'an array of { name, password }, both not empty, no colon in a name',
    (value) => Array.isArray(value) && value.every(isProxyUser),
  ],
  allowPrivateTargets: anyBoolean,
  connectPorts: [
    'an array of ports from 1 to 65535',
    (value) => Array.isArray(value) && value.every(integerBetween(1, 65_535)[1]),
  ],
  maxConnections: integerBetween(1, 2 ** 31 - 1),
  idleTimeout: positiveDuration,
  headTimeout: positiveDuration,
  connectTimeout: positiveDuration,
  responseTimeout: positiveDuration,
  maxHeaderSize: integerBetween(512, 2 ** 20),
  workers: integerBetween(1, MAX_WORKERS),
  resolve: anyFunction,
  clock: [
    'a Clock with now, wall, setTimer and clearTimer',
    (value) => isObject(value) && 'setTimer' in value,
  ],
}

/** A value in an error message. Users are not shown, since they hold passwords. */
const describe = (name: string, value: unknown): string =>
  name === 'users' || isObject(value) ? 'another value' : String(value).slice(0, 40)

const LOOPBACK_PATTERN = /^(127\.\d+\.\d+\.\d+|::1|localhost)$/

/** Checks the options of a proxy, or throws INVALID_OPTIONS that lists everything wrong with them. */
export function parseProxyOptions(input: ProxyOptions): ProxySettings {
  const problems: string[] = []
  const settings = { ...PROXY_DEFAULTS } as Record<string, unknown>
  for (const [name, value] of Object.entries(Object(input) as object)) {
    if (value === undefined) continue
    const rule = Object.hasOwn(OPTION_RULES, name) ? OPTION_RULES[name as keyof ProxyOptions] : undefined
    if (rule === undefined)
      problems.push(`${name}: unknown option, expected one of ${Object.keys(OPTION_RULES).join(', ')}`)
    else if (!rule[1](value)) problems.push(`${name}: expected ${rule[0]}, got ${describe(name, value)}`)
    else settings[name] = rule[2] === undefined ? value : rule[2](value as never)
  }
  const { host, users } = settings as unknown as ProxySettings
  if (typeof host === 'string' && !LOOPBACK_PATTERN.test(host) && Array.isArray(users) && users.length === 0)
    problems.push(
      `host: expected a loopback address where there are no users, got ${host}; configure users, or listen on 127.0.0.1`,
    )
  const { workers, resolve, clock } = settings as unknown as ProxySettings
  if (workers > 1 && (resolve !== PROXY_DEFAULTS.resolve || clock !== PROXY_DEFAULTS.clock))
    problems.push(
      'workers: expected 1 with resolve or clock, since functions cannot be sent to another process',
    )
  if (problems.length > 0) throw createOptionsError('invalid proxy options', problems)
  return settings as unknown as ProxySettings
}

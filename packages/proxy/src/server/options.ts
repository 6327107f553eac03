import type { Attempt, Clock, Duration, GuardOptions, Pool, RetryOptions, RunOptions } from 'holdfast'
import type { FetchRetryOptions } from 'holdfast/http'
import {
  clockOption,
  createOptionsError,
  createProblem,
  defaultsOf,
  integerBetween,
  listenPort,
  nonEmptyString,
  type OptionProblem,
  type OptionSpecOf,
  ofType,
  parseOptions,
  systemClock,
  timerDuration,
} from 'holdfast/internal'
import { type Resolve, resolveBySystem } from '../targets/target-policy.js'

/** A user of the proxy. */
export interface ProxyUser {
  /** The name, without parameters. */
  readonly name: string
  /** The password. */
  readonly password: string
}

/** The parameters in the user name of a client, for the strategies `sticky` and `region`. */
export interface ProxyContext {
  /** Calls of one session use the same member. */
  readonly session?: string
  /** The preferred region of the member. */
  readonly region?: string
}

/** A call that runs under a guard. */
export interface ProxyCall {
  /** A plain request, or the opening of a tunnel. */
  readonly kind: 'request' | 'tunnel'
  /** The method; CONNECT for a tunnel. */
  readonly method: string
  /** Name and port of the target. */
  readonly host: string
  /** The value of the header `x-holdfast-policy`. */
  readonly policy: string | undefined
  /** The name of the user, without parameters, if there are users. */
  readonly user: string | undefined
  /** The parameters of the user name. */
  readonly context: ProxyContext
}

/** Runs calls: a guard of `holdfast`, or any object with the same method `run`. */
export interface ProxyGuard {
  /**
   * Runs a call. For a request that must not be sent twice, `options.retry.abortOn` has a predicate that is true for every
   * error and response after the request was sent.
   */
  run<T>(fn: (attempt: Attempt) => T | PromiseLike<T>, options?: RunOptions): Promise<T>
  /** Whether methods such as POST can be sent again although they may have arrived. The default is the option of the proxy. */
  retryNonIdempotent?(): boolean | PromiseLike<boolean>
}

/** The retry options of a policy: those of a guard, and those of HTTP. */
export interface ProxyRetryOptions
  extends RetryOptions,
    Pick<FetchRetryOptions, 'retryStatusCodes' | 'retryNonIdempotent'> {}

/** A policy that clients can select: guard options with the retry options of HTTP. */
export interface ProxyPolicy extends Omit<GuardOptions, 'retry'> {
  /** The retry options; false disables retries. */
  retry?: ProxyRetryOptions | false | undefined
}

/** The options of a forward proxy. */
export interface ProxyOptions {
  /** The proxies to rotate over. @defaultValue none: the proxy connects to targets directly */
  pool?: Pool<unknown>
  /** The policies by the ids of `x-holdfast-policy`. @defaultValue none */
  policies?: Readonly<Record<string, ProxyPolicy>>
  /** Returns the guard of a call instead of `policies` and the defaults. It can throw POLICY_NOT_FOUND. */
  guard?: (call: ProxyCall) => ProxyGuard
  /** Whether methods such as POST can be sent again although they may have arrived; a policy can override it. @defaultValue false */
  retryNonIdempotent?: boolean
  /** The address to listen on. Any address but loopback requires users. @defaultValue '127.0.0.1' */
  host?: string
  /** The port; 0 selects a free one. @defaultValue 8080 */
  port?: number
  /** The users of the proxy; without users every client that can connect is allowed. @defaultValue none */
  users?: readonly ProxyUser[]
  /** Whether private, loopback, link-local and metadata targets are allowed. @defaultValue false */
  allowPrivateTargets?: boolean
  /** The ports to which CONNECT can open tunnels, such as [443]; an empty list allows none. @defaultValue any */
  connectPorts?: readonly number[]
  /** The maximum number of client connections; further ones are closed at once. @defaultValue 10000 */
  maxConnections?: number
  /** How long a tunnel, a keep-alive connection or a body can be idle. @defaultValue '2m' */
  idleTimeout?: Duration
  /** How long a client can take to send the head of a request. @defaultValue '10s' */
  headTimeout?: Duration
  /** How long connecting to a target without a pool can take. @defaultValue '10s' */
  connectTimeout?: Duration
  /** How long the response can take after the request was sent. @defaultValue '60s' */
  responseTimeout?: Duration
  /** The maximum size of the head of a request or a response in bytes. @defaultValue 65536 */
  maxHeaderSize?: number
  /**
   * How many processes serve connections, for machines with several cores. With 1, this process serves them; with more, `resolve`
   * and `clock` cannot be given. @defaultValue 1
   */
  workers?: number
  /** Resolves a name to all its addresses. @defaultValue the resolver of the operating system */
  resolve?: Resolve
  /** The source of time. @defaultValue the system clock */
  clock?: Clock
}

/** {@link ProxyOptions} with all defaults filled in. */
export interface ProxySettings
  extends Required<Omit<ProxyOptions, 'pool' | 'guard' | 'connectPorts' | DurationOption>>,
    Pick<ProxyOptions, 'pool' | 'guard' | 'connectPorts'>,
    Readonly<Record<DurationOption, number>> {}

type DurationOption = 'idleTimeout' | 'headTimeout' | 'connectTimeout' | 'responseTimeout'

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

const isPort = (value: unknown): boolean =>
  Number.isInteger(value) && (value as number) > 0 && (value as number) < 65_536

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

/** The same maximum as in the config file. */
const MAX_WORKERS = 256

/** The default value and the rule of each option. */
const PROXY_SPEC: OptionSpecOf<ProxyOptions> = {
  pool: [undefined, ['a Pool', (value: unknown) => isObject(value) && 'select' in value]],
  policies: [Object.freeze({}), ['an object of guard options by id', isObject]],
  guard: [undefined, ofType('function')],
  retryNonIdempotent: [false, ofType('boolean')],
  host: ['127.0.0.1', nonEmptyString],
  port: [8080, listenPort],
  users: [
    Object.freeze([]),
    [
      'an array of { name, password }, both not empty, no colon in a name',
      (value: unknown) => Array.isArray(value) && value.every(isProxyUser),
    ],
  ],
  allowPrivateTargets: [false, ofType('boolean')],
  connectPorts: [
    undefined,
    ['an array of ports from 1 to 65535', (value: unknown) => Array.isArray(value) && value.every(isPort)],
  ],
  maxConnections: [10_000, integerBetween(1, 2 ** 31 - 1)],
  idleTimeout: [120_000, timerDuration],
  headTimeout: [10_000, timerDuration],
  connectTimeout: [10_000, timerDuration],
  responseTimeout: [60_000, timerDuration],
  maxHeaderSize: [65_536, integerBetween(512, 2 ** 20)],
  workers: [1, integerBetween(1, MAX_WORKERS)],
  resolve: [resolveBySystem, ofType('function')],
  clock: [systemClock, clockOption],
}

/** The defaults of {@link ProxyOptions}. */
export const PROXY_DEFAULTS = defaultsOf(PROXY_SPEC) as ProxySettings

/** The problem without the given value where that can contain a password. */
const withoutPassword = (problem: OptionProblem): OptionProblem =>
  problem.path === 'users' ? { ...problem, got: 'another value' } : problem

const LOOPBACK_PATTERN = /^(127\.\d+\.\d+\.\d+|::1|localhost)$/

/** Checks the options of a proxy. @throws INVALID_OPTIONS that lists every problem */
export function parseProxyOptions(input: ProxyOptions): ProxySettings {
  const problems: OptionProblem[] = []
  const settings = parseOptions('', input, PROXY_DEFAULTS, PROXY_SPEC, problems)
  const { host, users, workers, resolve, clock } = settings
  if (!LOOPBACK_PATTERN.test(host) && users.length === 0 && !problems.some(({ path }) => path === 'users'))
    problems.push(
      createProblem(
        'host',
        'conflict',
        'a loopback address without users',
        `${host}; configure users, or listen on 127.0.0.1`,
      ),
    )
  if (workers > 1 && (resolve !== PROXY_DEFAULTS.resolve || clock !== PROXY_DEFAULTS.clock))
    problems.push(
      createProblem(
        'workers',
        'conflict',
        '1 with resolve or clock, because functions cannot be sent to another process',
        `${workers}`,
      ),
    )
  if (problems.length > 0) throw createOptionsError('invalid proxy options', problems.map(withoutPassword))
  return settings
}

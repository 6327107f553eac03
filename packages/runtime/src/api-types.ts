import type { Actor, Logger } from '@holdfast/config'
import type {
  CircuitBreakerEvent,
  CircuitBreakerState,
  EventType,
  HealthStatus,
  MetricsByMember,
  MetricsByOperation,
  MetricsSeries,
  MetricsSummary,
  MetricsWindow,
  PolicyFields,
  RetryEvent,
  RetryPolicy,
  RetrySession,
} from '@holdfast/records'
import type { BreakerEventFilter, EventFilter, Page, SessionFilter } from '@holdfast/store'
import type {
  Attempt,
  Clock,
  FallbackInfo,
  Member,
  MemberStatus,
  Pool,
  Random,
  RetryOptions,
  TimeoutOptions,
  TripOptions,
} from 'holdfast'

/** The options of one call. `F` is the result type of the fallback, `never` for a call without one. */
export interface CallOptions<F = never> {
  /** Data about the call. It is recorded after redaction, and pools read `session` and `region` of it. */
  context?: Record<string, unknown> | undefined
  /** Links the records of several calls. @defaultValue a random id */
  correlationId?: string | undefined
  /** The item that the call is about; the `itemId` of its dead letter. */
  itemId?: string | undefined
  /** Everything that a replay needs, as JSON. A call with a payload that fails becomes a dead letter. */
  payload?: unknown
  /** Passed to the handler of a replay. @defaultValue a random key */
  idempotencyKey?: string | undefined
  /** The call must pass the breaker of this service, listed under `circuit_breakers`. */
  service?: string | undefined
  /** Each attempt uses a member of this pool. */
  pool?: string | undefined
  /** The policy of this call: the id of a policy, or policy fields. */
  policy?: string | PolicyFields | undefined
  /**
   * Overrides the retry options of the policy for this call; options that are absent keep their value. `false` allows one
   * attempt. An override `Retry/enabled: false` takes precedence.
   */
  retry?: RetryOptions | false | undefined
  /**
   * Overrides the timeouts of the policy for this call; a timeout that is absent keeps its value, Infinity removes it. `false`
   * removes both.
   */
  timeout?: TimeoutOptions | false | undefined
  /**
   * Returns a value in place of the error, which is then not stored as a dead letter. Not called if the caller aborts or the
   * call is cancelled. An error that it throws is thrown, with the original error as its cause.
   */
  fallback?: ((error: unknown, info: FallbackInfo) => F | PromiseLike<F>) | undefined
  /** The name of the call in records. @defaultValue the operation */
  name?: string | undefined
  /** Ends the call at once when aborted. */
  signal?: AbortSignal | undefined
}

/** The active policies, and their changes. */
export interface PolicyService {
  /** Returns a policy. @throws POLICY_NOT_FOUND */
  get(id: string): Promise<RetryPolicy>
  /** Returns all policies. */
  list(): Promise<RetryPolicy[]>
  /**
   * Creates or replaces a policy. A field that is absent gets its value from the file, the defaults or the built-in values,
   * even if an earlier `put` had set it. To change one field, put `{ ...previous, field }`. The policy takes effect at once
   * and is kept over restarts.
   *
   * @throws CONFIG_INVALID
   */
  put(policy: PolicyFields & { id: string }, actor?: Actor): Promise<RetryPolicy>
  /** Deletes a policy. @throws POLICY_NOT_FOUND, POLICY_IN_USE */
  delete(id: string, actor?: Actor): Promise<void>
}

/** Selects breakers. */
export interface BreakerFilter {
  state?: CircuitBreakerState['state'] | undefined
  /** Only the breakers of this pool's members. */
  pool?: string | undefined
}

/** The breakers of a runtime. */
export interface BreakerService {
  /** Returns the states of all breakers, or of those that a filter selects. */
  list(filter?: BreakerFilter): Promise<CircuitBreakerState[]>
  /** The ids of the breakers that `list` returns, in the same order. With very many breakers this is cheaper. */
  ids(filter?: BreakerFilter): Promise<string[]>
  /** Returns the state of a breaker; undefined for an unknown id. */
  get(id: string): Promise<CircuitBreakerState | undefined>
  /** Closes a breaker and clears its failures. */
  reset(id: string, actor?: Actor): Promise<CircuitBreakerState>
  /**
   * Opens a breaker: for `duration`, or until it is reset with `duration: Infinity`, else for its open duration. It is shared
   * and persisted like any other state. @throws INVALID_OPTIONS
   */
  trip(id: string, options?: Actor & TripOptions): Promise<CircuitBreakerState>
  /** State changes, newest first. */
  events(filter?: BreakerEventFilter): Promise<Page<CircuitBreakerEvent>>
}

/** Calls that failed at least once. */
export interface SessionService {
  /** Returns a page of sessions, newest first; with `active`, the running ones. */
  list(filter?: SessionFilter & { active?: boolean | undefined }): Promise<Page<RetrySession>>
  /** Returns a session; undefined for an unknown id. */
  get(id: string): Promise<RetrySession | undefined>
  /** Cancels a call, which rejects with CANCELLED. Returns false if no such call is running. */
  cancel(id: string, actor?: Actor): Promise<boolean>
}

/** Events, live and stored. */
export interface EventService {
  /** Calls `listener` with every event of a type, one at a time, until the returned function is called. */
  on(type: EventType | '*', listener: (event: RetryEvent) => unknown): () => void
  /** Returns a page of the stored events. */
  list(filter?: EventFilter): Promise<Page<RetryEvent>>
}

/** The metrics of calls. */
export interface MetricsService {
  /** Returns counts over everything that is kept. */
  summary(): Promise<MetricsSummary>
  /** Returns one point for each hour or day, oldest first. */
  timeseries(options?: {
    hours?: number | undefined
    step?: 'hour' | 'day' | undefined
  }): Promise<MetricsSeries>
  /** Returns the counts of each pool member. */
  byMember(options?: { hours?: number | undefined }): Promise<MetricsByMember>
  /** Returns all counts between two times. */
  window(options: { from: Date; to: Date }): Promise<MetricsWindow>
  /**
   * Returns the calls of each operation between two times, in total and by `step` milliseconds, which is a multiple of a
   * minute. At most 500 operations are listed; all others are `other`. `operation` selects one.
   */
  operations(options: {
    from: Date
    to: Date
    step?: number | undefined
    operation?: string | undefined
  }): Promise<MetricsByOperation>
}

/** The health of a runtime. */
export interface Health {
  /**
   * `ok`; `degraded` if the built-in policies replace a config file that could not be loaded, or the store has
   * records that it cannot read; `closed` after `close`.
   */
  status: HealthStatus
  /** Always true: a runtime exists only after it was opened. */
  initialized: boolean
  /** The number of policies. */
  policiesCount: number
  /** The number of running calls. */
  activeSessions: number
  /** The number of breakers, and of those that are open or half open. */
  circuitBreakers: { total: number; open: number; halfOpen: number }
}

/** The options of `Holdfast.open`. */
export interface OpenOptions {
  /** The path of a config file, or a configuration object with camelCase keys and milliseconds. */
  config?: string | object | undefined
  /** The url of the store for records. @defaultValue the file's `store`; `memory` for an object */
  store?: string | undefined
  /** The clock. @defaultValue the system clock */
  clock?: Clock | undefined
  /** The source of random numbers. @defaultValue `Math.random` */
  random?: Random | undefined
  /** Gets a log entry for each retry, failure and change. @defaultValue none */
  logger?: Logger | undefined
  /**
   * Opens with the built-in policies if the file cannot be loaded, and reports that on stderr and as an event.
   * @defaultValue false
   */
  fallback?: boolean | undefined
  /** Reloads the file when it changes. @defaultValue true */
  watch?: boolean | undefined
  /** The environment for overrides and `${VAR}`. @defaultValue process.env */
  env?: Record<string, string | undefined> | undefined
}

/** A member that is added to a pool of the configuration. */
export interface NewMember {
  /** The id of the member. @defaultValue the host and port of its url */
  id?: string | undefined
  /** The address of the member. It may hold credentials, which no record, log line or response shows. */
  url: string
  weight?: number | undefined
  region?: string | undefined
  cost?: number | undefined
  tags?: string[] | undefined
}

/** The settings of a member that can be changed. */
export interface MemberUpdate {
  /** `false` disables the member until it is enabled again. */
  enabled?: boolean | undefined
  /** `true` drains the member, for example before it is removed or restarted. */
  draining?: boolean | undefined
  weight?: number | undefined
}

/** The status of a member: `drained` while it is draining, `disabled` after it was disabled. */
export type PoolMemberStatus = MemberStatus | 'disabled'

/** The pools of the configuration. Changes of their members take effect at once and are kept over restarts. */
export interface PoolService {
  /** Returns a pool. @throws INVALID_OPTIONS for an unknown pool */
  get(id: string): Pool
  /** Returns all pools. */
  list(): Promise<Pool[]>
  /**
   * Adds a member to a pool.
   *
   * @throws INVALID_OPTIONS that lists all problems; an id that another member has is a problem too
   */
  addMember(pool: string, member: NewMember, actor?: Actor): Promise<Member>
  /**
   * Both `enabled: false` and `draining: true` keep new calls from the member and let active ones end; `memberStatus`
   * distinguishes the two. `enabled: true` ends either, `draining: false` ends only draining. @throws INVALID_OPTIONS for
   * an unknown member
   */
  changeMember(pool: string, member: string, change: MemberUpdate, actor?: Actor): Promise<Member>
  /** The status of a member in its pool; `disabled` if it was disabled. @throws INVALID_OPTIONS for an unknown member */
  memberStatus(pool: string, member: string): PoolMemberStatus
  /** Removes a member from a pool. @throws INVALID_OPTIONS for an unknown member */
  removeMember(pool: string, member: string, actor?: Actor): Promise<void>
}

/** Runs `fn` under the policies of an operation. */
export type Run = <T, F = never>(
  operation: string,
  fn: (attempt: Attempt) => T | PromiseLike<T>,
  options?: CallOptions<F>,
) => Promise<T | F>

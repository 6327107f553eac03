import type { Actor, Logger } from '@holdfast/config'
import type {
  CircuitBreakerEvent,
  CircuitBreakerState,
  EventType,
  MetricsByMember,
  MetricsSeries,
  MetricsSummary,
  MetricsWindow,
  PolicyFields,
  RetryEvent,
  RetryPolicy,
  RetrySession,
} from '@holdfast/records'
import type { BreakerEventFilter, EventFilter, Page, SessionFilter } from '@holdfast/store'
import type { Attempt, Clock, Member, MemberStatus, Pool, Random, RetryOptions } from 'holdfast'

/** The options of one call. */
export interface CallOptions {
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
  /** The name of the call in records. @defaultValue the operation */
  name?: string | undefined
  /** Ends the call at once when aborted. */
  signal?: AbortSignal | undefined
}

export interface PolicyService {
  /** @throws POLICY_NOT_FOUND */
  get(id: string): Promise<RetryPolicy>
  list(): Promise<RetryPolicy[]>
  /**
   * Creates or replaces a policy. A field that is absent gets its value from the file, the defaults or the built-in values,
   * even if an earlier `put` had set it. To change one field, put `{ ...previous, field }`. The policy takes effect at once
   * and is kept over restarts.
   *
   * @throws CONFIG_INVALID
   */
  put(policy: PolicyFields & { id: string }, actor?: Actor): Promise<RetryPolicy>
  /** @throws POLICY_NOT_FOUND, POLICY_IN_USE */
  delete(id: string, actor?: Actor): Promise<void>
}

/** Selects breakers. */
export interface BreakerFilter {
  state?: CircuitBreakerState['state'] | undefined
  /** Only the breakers of this pool's members. */
  pool?: string | undefined
}

export interface BreakerService {
  list(filter?: BreakerFilter): Promise<CircuitBreakerState[]>
  /** The ids of the breakers that `list` returns, in the same order. With very many breakers this is cheaper. */
  ids(filter?: BreakerFilter): Promise<string[]>
  get(id: string): Promise<CircuitBreakerState | undefined>
  reset(id: string, actor?: Actor): Promise<CircuitBreakerState>
  trip(id: string, actor?: Actor): Promise<CircuitBreakerState>
  /** State changes, newest first. */
  events(filter?: BreakerEventFilter): Promise<Page<CircuitBreakerEvent>>
}

export interface SessionService {
  list(filter?: SessionFilter & { active?: boolean | undefined }): Promise<Page<RetrySession>>
  get(id: string): Promise<RetrySession | undefined>
  /** Cancels a call, which rejects with CANCELLED. Returns false where no such call is running. */
  cancel(id: string, actor?: Actor): Promise<boolean>
}

export interface EventService {
  /** Calls `listener` with every event of a type, one at a time, until the returned function is called. */
  on(type: EventType | '*', listener: (event: RetryEvent) => unknown): () => void
  list(filter?: EventFilter): Promise<Page<RetryEvent>>
}

export interface MetricsService {
  summary(): Promise<MetricsSummary>
  timeseries(options?: {
    hours?: number | undefined
    step?: 'hour' | 'day' | undefined
  }): Promise<MetricsSeries>
  byMember(options?: { hours?: number | undefined }): Promise<MetricsByMember>
  window(options: { from: Date; to: Date }): Promise<MetricsWindow>
}

export interface Health {
  status: 'ok' | 'degraded' | 'closed'
  initialized: boolean
  policiesCount: number
  activeSessions: number
  circuitBreakers: { total: number; open: number; halfOpen: number }
}

/** The options of `Holdfast.open`. */
export interface OpenOptions {
  /** The path of a config file, or a configuration object with camelCase keys and milliseconds. */
  config?: string | object | undefined
  /** The url of the store for records. @defaultValue the file's `store`; `memory` for an object */
  store?: string | undefined
  clock?: Clock | undefined
  random?: Random | undefined
  logger?: Logger | undefined
  /**
   * Opens with the built-in policies where the file cannot be loaded, and reports that on stderr and as an event.
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
  /** @throws INVALID_OPTIONS for an unknown pool */
  get(id: string): Pool
  list(): Promise<Pool[]>
  /** @throws INVALID_OPTIONS that lists all problems; an id that another member has is a problem too */
  addMember(pool: string, member: NewMember, actor?: Actor): Promise<Member>
  /**
   * Both `enabled: false` and `draining: true` keep new calls from the member and let active ones end; `memberStatus`
   * distinguishes the two. `enabled: true` ends either, `draining: false` ends only draining. @throws INVALID_OPTIONS for
   * an unknown member
   */
  changeMember(pool: string, member: string, change: MemberUpdate, actor?: Actor): Promise<Member>
  /** The status of a member in its pool; `disabled` where it was disabled. @throws INVALID_OPTIONS for an unknown member */
  memberStatus(pool: string, member: string): PoolMemberStatus
  /** @throws INVALID_OPTIONS for an unknown member */
  removeMember(pool: string, member: string, actor?: Actor): Promise<void>
}

/** Runs `fn` under the policies of an operation. */
export type Run = <T>(
  operation: string,
  fn: (attempt: Attempt) => T | PromiseLike<T>,
  options?: CallOptions,
) => Promise<T>

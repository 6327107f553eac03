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

/** What one call may be given besides its operation and function. */
export interface CallOptions {
  /** Facts about the call: recorded, redacted, and read by pools (`session`, `region`). */
  context?: Record<string, unknown> | undefined
  /** Ties records of several calls together; made where none is given. */
  correlationId?: string | undefined
  /** What the call is about; the `itemId` of its dead letter. */
  itemId?: string | undefined
  /** Makes the call dead-letter when it ends in failure: all that a replay needs, as JSON. */
  payload?: unknown
  /** Handed to the replay's handler; made where none is given. */
  idempotencyKey?: string | undefined
  /** The breaker of this service, under `circuit_breakers`, guards the call. */
  service?: string | undefined
  /** Each attempt goes to a member of this pool. */
  pool?: string | undefined
  /** The policy for this call: the id of one, or the fields of one. */
  policy?: string | PolicyFields | undefined
  /**
   * Changes the policy's retrying for this call; what it leaves out stays. False: one attempt. An override
   * `Retry/enabled: false` wins over it.
   */
  retry?: RetryOptions | false | undefined
  /** What the call is named in records. @defaultValue the operation */
  name?: string | undefined
  /** Ends the call at once when aborted. */
  signal?: AbortSignal | undefined
}

export interface PolicyService {
  /** @throws POLICY_NOT_FOUND */
  get(id: string): Promise<RetryPolicy>
  list(): Promise<RetryPolicy[]>
  /**
   * Puts a policy in place of what was put before: a field that is left out is as the file, its defaults and the built-in values
   * have it, whatever an earlier put said. To change one field of several, put `{ ...what was put, field }`. Takes effect at
   * once and survives a restart.
   *
   * @throws CONFIG_INVALID
   */
  put(policy: PolicyFields & { id: string }, actor?: Actor): Promise<RetryPolicy>
  /** @throws POLICY_NOT_FOUND, POLICY_IN_USE */
  delete(id: string, actor?: Actor): Promise<void>
}

/** Which breakers are meant. */
export interface BreakerFilter {
  state?: CircuitBreakerState['state'] | undefined
  /** The breakers of this pool's members alone. */
  pool?: string | undefined
}

export interface BreakerService {
  list(filter?: BreakerFilter): Promise<CircuitBreakerState[]>
  /** The ids of those that `list` lists, in its order: for whoever wants to see a part of very many. */
  ids(filter?: BreakerFilter): Promise<string[]>
  get(id: string): Promise<CircuitBreakerState | undefined>
  reset(id: string, actor?: Actor): Promise<CircuitBreakerState>
  trip(id: string, actor?: Actor): Promise<CircuitBreakerState>
  /** Changes of state, newest first. */
  events(filter?: BreakerEventFilter): Promise<Page<CircuitBreakerEvent>>
}

export interface SessionService {
  list(filter?: SessionFilter & { active?: boolean | undefined }): Promise<Page<RetrySession>>
  get(id: string): Promise<RetrySession | undefined>
  /** The call rejects with CANCELLED. False where no such call runs. */
  cancel(id: string, actor?: Actor): Promise<boolean>
}

export interface EventService {
  /** Tells `listener` of every event of a type, one at a time, until the function it returns is called. */
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

/** How a runtime is opened. */
export interface OpenOptions {
  /** A path, or a configuration as TypeScript writes it: camelCase and milliseconds. */
  config?: string | object | undefined
  /** Where records live. @defaultValue the file's `store`; `memory` for an object */
  store?: string | undefined
  clock?: Clock | undefined
  random?: Random | undefined
  logger?: Logger | undefined
  /** Starts on the ready policies where the file cannot be loaded, and says so loudly. @defaultValue false */
  fallback?: boolean | undefined
  /** Follows the file as it changes. @defaultValue true */
  watch?: boolean | undefined
  /** The environment for overrides and `${VAR}`. @defaultValue process.env */
  env?: Record<string, string | undefined> | undefined
}

/** A member as it is added to a pool of the configuration. */
export interface NewMember {
  /** What it is called. @defaultValue the host and port of its url */
  id?: string | undefined
  /** Where it is; may hold credentials, which no record, log line or answer shows. */
  url: string
  weight?: number | undefined
  region?: string | undefined
  cost?: number | undefined
  tags?: string[] | undefined
}

/** What may be changed of a member. */
export interface MemberUpdate {
  /** False disables it until it is enabled. */
  enabled?: boolean | undefined
  /** True drains it, as before it is removed or restarted. */
  draining?: boolean | undefined
  weight?: number | undefined
}

/** How a member stands: `drained` is one that is draining, `disabled` one that was disabled. */
export type PoolMemberStatus = MemberStatus | 'disabled'

/** The pools of the configuration. Changes of their members take effect at once and survive a restart. */
export interface PoolService {
  /** @throws INVALID_OPTIONS for an unknown pool */
  get(id: string): Pool
  list(): Promise<Pool[]>
  /** @throws INVALID_OPTIONS that lists what is wrong with it; an id that another member has is wrong too */
  addMember(pool: string, member: NewMember, actor?: Actor): Promise<Member>
  /**
   * `enabled: false` and `draining: true` both send no more calls to it, and let those in flight end; `memberStatus` tells them
   * apart. `enabled: true` ends either, `draining: false` ends draining alone. @throws INVALID_OPTIONS for an unknown member
   */
  changeMember(pool: string, member: string, change: MemberUpdate, actor?: Actor): Promise<Member>
  /** How a member stands: as its pool has it, and `disabled` where it was disabled. @throws INVALID_OPTIONS for an unknown member */
  memberStatus(pool: string, member: string): PoolMemberStatus
  /** @throws INVALID_OPTIONS for an unknown member */
  removeMember(pool: string, member: string, actor?: Actor): Promise<void>
}

/** Runs `fn` under an operation's rules. */
export type Run = <T>(
  operation: string,
  fn: (attempt: Attempt) => T | PromiseLike<T>,
  options?: CallOptions,
) => Promise<T>

import type {
  AuditRecord,
  CircuitBreakerEvent,
  DeadLetter,
  DeadLetterStatus,
  ErrorRecord,
  RetryEvent,
  RetrySession,
} from '@holdfast/records'
import type { BreakerSnapshot } from 'holdfast'

/** A part of a list. `cursor` requests the next part; it is absent in the last one. */
export interface Page<T> {
  /** The records of this part. */
  items: T[]
  /** The cursor of the next part; absent in the last one. */
  cursor?: string
}

/** The size, start and order of a page. */
export interface PageOptions {
  /** The maximum number of records. @defaultValue 100 */
  limit?: number | undefined
  /** The cursor of an earlier page. Another text is rejected with INVALID_OPTIONS. */
  cursor?: string | undefined
  /** Whether the oldest or the newest record comes first. */
  order?: 'oldest' | 'newest' | undefined
}

/** Selects records by time. */
export interface TimeRange {
  /** Records at or after this time. */
  from?: Date | undefined
  /** Records before this time. */
  to?: Date | undefined
}

/** Selects sessions. */
export interface SessionFilter extends PageOptions, TimeRange {
  /** Only sessions of this operation. */
  operation?: string | undefined
  /** Only sessions of this subsystem. */
  subsystem?: string | undefined
  /** The policy of the last decision: the record's `policyId`. */
  policyId?: string | undefined
  /** Only sessions with this correlation id. */
  correlationId?: string | undefined
  /** Only sessions that succeeded, or only those that failed. */
  success?: boolean | undefined
}

/** Selects events. */
export interface EventFilter extends PageOptions, TimeRange {
  /** Only events of these types. */
  types?: readonly string[] | undefined
  /** Only events of these operations. */
  operations?: readonly string[] | undefined
  /** Only events of this session. */
  sessionId?: string | undefined
  /** Only events after this `eventId`. Ids sort by time. */
  after?: string | undefined
}

/** Selects error records. */
export interface ErrorFilter extends PageOptions, TimeRange {
  /** Only records of this severity. */
  severity?: string | undefined
  /** Only records of this category. */
  category?: string | undefined
  /** Only records of this operation. */
  operation?: string | undefined
}

/** Selects audit records. */
export interface AuditFilter extends PageOptions, TimeRange {
  /** Only records of this actor. */
  actor?: string | undefined
  /** Only records of this action. */
  action?: string | undefined
  /** Only records about this target. */
  target?: string | undefined
}

/** Selects state changes of breakers. */
export interface BreakerEventFilter extends PageOptions, TimeRange {
  /** Only changes of the breaker with this id. */
  id?: string | undefined
}

/** Records that are appended, read and deleted with age, and never changed. Lists are newest first by default. */
export interface Journal<T, F extends PageOptions> {
  /** Appends records in this order. They are durable when the promise resolves, if the store is durable. */
  append(records: readonly T[]): Promise<void>
  /** Returns a page of the records that a filter selects. */
  list(filter?: F): Promise<Page<T>>
  /** Deletes records older than `before`, then the oldest ones beyond `maxEntries`. Returns how many were deleted. */
  expire(limits: { before?: Date | undefined; maxEntries?: number | undefined }): Promise<number>
  /** Returns the number of records. */
  count(): Promise<number>
}

/** The journal of sessions, which can also be read by id. */
export interface SessionJournal extends Journal<RetrySession, SessionFilter> {
  /** Returns a session; undefined for an unknown id. */
  get(id: string): Promise<RetrySession | undefined>
}

/** Selects dead letters. */
export interface DeadLetterFilter extends PageOptions, TimeRange {
  /** Only entries of this operation. */
  operation?: string | undefined
  /** Only entries with this status, or with one of these. */
  status?: DeadLetterStatus | readonly DeadLetterStatus[] | undefined
  /** Only entries of this item. */
  itemId?: string | undefined
}

/** Selects dead letters for a change or a count, without a page. */
export type DeadLetterSelector = Omit<DeadLetterFilter, keyof PageOptions>

/** The result of adding an entry. */
export type Added =
  | { result: 'added'; entry: DeadLetter }
  /** An entry with this idempotency key and the same payload exists already. */
  | { result: 'known'; entry: DeadLetter }
  /** An entry with this idempotency key and another payload exists already. */
  | { result: 'conflict'; entry: DeadLetter }
  | { result: 'full' }

/** The result of acquiring a lease. */
export type Leased =
  | { result: 'leased'; entry: DeadLetter }
  | { result: 'missing' }
  /** Another owner holds the lease until this time. */
  | { result: 'held'; until: Date }
  /** The entry is completed and cannot be replayed. */
  | { result: 'done'; entry: DeadLetter }

/** The result of editing a payload. */
export type Edited =
  | { result: 'edited'; entry: DeadLetter }
  | { result: 'missing' }
  /** Another owner holds the lease until this time. */
  | { result: 'held'; until: Date }
  /** The entry is completed and is not replayed again. */
  | { result: 'done'; entry: DeadLetter }

/** The outcome of a replay. */
export interface Settlement {
  /** The new status of the entry. */
  status: 'completed' | 'failed' | 'pending'
  /** When the replay ended. */
  at: Date
  /** Appended to the history of the entry if the replay failed. */
  error?: DeadLetter['errorDetails'] | undefined
}

/** The numbers of dead letters. */
export interface DeadLetterStats {
  /** The number of all entries. */
  total: number
  /** The number of entries with each status. */
  byStatus: Record<DeadLetterStatus, number>
  /** The number of entries with each status, by operation. */
  byOperation: Record<string, Record<DeadLetterStatus, number>>
  /** When the oldest entry that is not completed was created. */
  oldest?: Date | undefined
}

/**
 * The queue of dead letters. Every change is atomic, and durable when its promise resolves. Times are passed in, so that a store
 * has no clock. `owner` identifies the holder of a lease. An entry whose lease has expired counts as `pending` everywhere,
 * including lists and statistics, without a cleanup.
 */
export interface DeadLetterStore {
  /**
   * How many entries a process with fast handlers should lease and settle together, for a store where each change costs a round
   * trip and a flush. @defaultValue 1
   */
  readonly leaseBatch?: number | undefined
  /**
   * Adds entries, each with its own result. `maxEntries` limits those that are not completed. Entries of one call of
   * `add` are flushed together.
   */
  add(entries: readonly DeadLetter[], limits: { maxEntries: number }): Promise<Added[]>
  /** Returns an entry; undefined for an unknown id. */
  get(id: string, now: Date): Promise<DeadLetter | undefined>
  /** Lists entries, oldest first by default. */
  list(filter: DeadLetterFilter | undefined, now: Date): Promise<Page<DeadLetter>>
  /** Returns the number of matching entries with each status. */
  count(selector: DeadLetterSelector, now: Date): Promise<Record<DeadLetterStatus, number>>
  /** Acquires a lease: the entry is `replaying` until it is settled or the lease expires. */
  lease(id: string, owner: string, until: Date, now: Date): Promise<Leased>
  /** Acquires leases on the oldest matching entries that are not leased; only on those with a replay request, if `requested`. */
  leaseNext(
    want: {
      operations?: readonly string[] | undefined
      statuses: readonly ('pending' | 'failed')[]
      itemId?: string | undefined
      from?: Date | undefined
      to?: Date | undefined
      requested?: boolean | undefined
      limit: number
      /** Only these ids. */
      ids?: readonly string[] | undefined
      /** Ids to skip. */
      except?: ReadonlySet<string> | undefined
    },
    owner: string,
    until: Date,
    now: Date,
  ): Promise<DeadLetter[]>
  /** Extends a lease. False if the owner does not hold it any more. */
  renew(id: string, owner: string, until: Date, now: Date): Promise<boolean>
  /**
   * Ends a lease. `completed` records the id as processed permanently. Undefined if the owner does not hold the lease any more:
   * the result of a late worker changes nothing, unless it is `completed` and the entry is not completed yet, because the work
   * has been done and must not be repeated.
   */
  settle(id: string, owner: string, settlement: Settlement): Promise<DeadLetter | undefined>
  /** Marks an entry as completed without a replay. Undefined for an unknown id. Completing it twice changes nothing. */
  complete(id: string, at: Date): Promise<DeadLetter | undefined>
  /** Records a request to replay an entry. Undefined for an unknown id. */
  request(id: string, at: Date): Promise<DeadLetter | undefined>
  /**
   * Replaces the edited payload of an entry that is neither leased nor completed; the original payload stays. Null removes the
   * edited payload.
   */
  edit(id: string, editedPayload: unknown, now: Date): Promise<Edited>
  /** Whether an entry was ever completed, even if it has been purged since. */
  isProcessed(id: string): Promise<boolean>
  /** Deletes matching entries that are not leased. Returns how many. `ids` selects single entries. */
  purge(filter: DeadLetterFilter & { ids?: readonly string[] | undefined }, now: Date): Promise<number>
  /** Returns the numbers of entries by status and operation. */
  stats(now: Date): Promise<DeadLetterStats>
  /** Replaces the payload of an entry, and its edited payload unless undefined, for key rotation. */
  rewrite(id: string, payload: unknown, editedPayload?: unknown): Promise<void>
  /**
   * Sets the function that compares the payloads of two entries, which may be encrypted; it throws if a key is missing. Absent
   * in a store that does not accept entries before it can compare them.
   */
  compareWith?(same: (a: DeadLetter, b: DeadLetter) => boolean): void
  /**
   * Calls the listener when a replay may have been requested in any process, and once when it starts to listen. Returns a
   * function that ends the subscription. Absent in a store without notifications: its queue is polled.
   */
  onRequest?(listener: () => void): () => void
}

/** One version of the live changes, the layer of configuration that the API writes. */
export interface LayerVersion {
  /** The number of the version, from 1. */
  version: number
  /** Who made the change. */
  by: string
  /** Why the change was made. */
  reason?: string | undefined
  /** When the change was made. */
  at: Date
  /** The whole layer in the wire format. It contains only the changed settings. */
  layer: unknown
}

/** The versions of the live changes. */
export interface LayerStore {
  /** The newest version; undefined if there are none. */
  latest(): Promise<LayerVersion | undefined>
  /** All versions, newest first. */
  history(): Promise<LayerVersion[]>
  /**
   * Adds a version whose number is one above the newest, which must be `after` (0 for none). False if another process has added
   * one meanwhile: read the newest version and retry.
   */
  append(version: LayerVersion, after: number): Promise<boolean>
  /** Deletes all versions except the newest `maxEntries`. Returns how many. */
  expire(maxEntries: number): Promise<number>
  /** Replaces the layer of a version, for key rotation. An unknown version is ignored. */
  rewrite(version: number, layer: unknown): Promise<void>
}

/** Snapshots of breakers, which are restored after a restart. */
export interface BreakerStore {
  /** Stores snapshots and replaces earlier ones with the same ids. */
  save(snapshots: readonly StoredBreaker[]): Promise<void>
  /** Returns all snapshots. */
  load(): Promise<StoredBreaker[]>
  /** Deletes snapshots. Unknown ids are ignored. */
  delete(ids: readonly string[]): Promise<void>
}

/** A snapshot of a breaker in a store. */
export interface StoredBreaker {
  /** The state of the breaker. */
  snapshot: BreakerSnapshot
  /** When the breaker was first stored. */
  createdAt: Date
  /** When the breaker was last stored. */
  updatedAt: Date
  /** The configured settings, for people who read the store. They are not restored, and a store does not have to return them. */
  settings?: { failureThreshold: number; windowDuration: number; timeoutDuration: number } | undefined
}

/** Counters of a period as plain data. Rows of several nodes are added up when they are read. */
export interface MetricsRow {
  /** `minute:total`, `minute:policy:ID`, `minute:subsystem:NAME`, `hour:member:POOL:ID`, `hour:sketch` … */
  series: string
  /** When the period began, epoch milliseconds. */
  start: number
  /** The process that wrote the row. Several processes can write rows with the same series and start. */
  node: string
  /** The counters. */
  data: unknown
}

/** The counters of calls by period. */
export interface MetricsStore {
  /** Replaces rows of the same series, start and node. */
  save(rows: readonly MetricsRow[]): Promise<void>
  /** Rows that begin at or after `from` and before `to`, oldest first. */
  load(range: { from: number; to: number; prefix?: string | undefined }): Promise<MetricsRow[]>
  /** Deletes rows that begin before this time, in epoch milliseconds. Returns how many were deleted. */
  expire(before: number): Promise<number>
}

/** Small named values that must be durable, such as tokens of the server. */
export interface ValueStore {
  /** Returns a value; undefined for an unknown key. */
  get(key: string): Promise<unknown>
  /** Stores a value as JSON. @throws INVALID_OPTIONS for a value without a JSON form, such as undefined or a function */
  set(key: string, value: unknown): Promise<void>
  /** Deletes a value. An unknown key is ignored. */
  delete(key: string): Promise<void>
  /** Sorted by key. */
  list(prefix: string): Promise<{ key: string; value: unknown }[]>
}

/**
 * Stores records. Everything is asynchronous, and no method reads a clock. In a durable store, a change whose promise has
 * resolved survives a crash. A method that fails rejects with STORE_UNAVAILABLE.
 */
export interface Store {
  /** The scheme of the url: `memory`, `files`, `sqlite` … */
  readonly kind: string
  /** Whether only this process can access the store, so that no other process can have changed it. */
  readonly private?: boolean
  /** Whether the store has found records that it cannot read. Lists skip them. */
  readonly damaged?: boolean
  /** The calls that failed at least once. */
  readonly sessions: SessionJournal
  /** The events. */
  readonly events: Journal<RetryEvent, EventFilter>
  /** The error records. */
  readonly errors: Journal<ErrorRecord, ErrorFilter>
  /** The audit records. */
  readonly audit: Journal<AuditRecord, AuditFilter>
  /** The state changes of breakers. */
  readonly breakerEvents: Journal<CircuitBreakerEvent, BreakerEventFilter>
  /** The snapshots of breakers. */
  readonly breakers: BreakerStore
  /** The metrics. */
  readonly metrics: MetricsStore
  /** The live changes of the configuration. */
  readonly layers: LayerStore
  /** The dead letters. */
  readonly deadLetters: DeadLetterStore
  /** Small named values. */
  readonly values: ValueStore
  /** Creates folders and tables, and runs migrations. */
  open(): Promise<void>
  /**
   * Announces that {@link close} follows after the last records. A store that may not respond limits the time for both together.
   * Absent in a store that always responds.
   */
  startClosing?(): void
  /** Writes pending records and releases all resources. */
  close(): Promise<void>
  /** Free bytes on the disk of the store; undefined if that is not known. */
  freeSpace(): Promise<number | undefined>
}

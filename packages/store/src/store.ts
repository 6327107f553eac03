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

/** A part of a list. `cursor` asks for what comes after; absent where nothing does. */
export interface Page<T> {
  items: T[]
  cursor?: string
}

/** How much of a list, from where, and in which order. */
export interface PageOptions {
  /** @defaultValue 100 */
  limit?: number | undefined
  /** Where an earlier page ended. One that is not understood is INVALID_OPTIONS. */
  cursor?: string | undefined
  order?: 'oldest' | 'newest' | undefined
}

export interface TimeRange {
  /** At or after. */
  from?: Date | undefined
  /** Before. */
  to?: Date | undefined
}

export interface SessionFilter extends PageOptions, TimeRange {
  operation?: string | undefined
  subsystem?: string | undefined
  /** The policy of the last decision: the record's `policyId`. */
  policyId?: string | undefined
  correlationId?: string | undefined
  success?: boolean | undefined
}

export interface EventFilter extends PageOptions, TimeRange {
  types?: readonly string[] | undefined
  operations?: readonly string[] | undefined
  sessionId?: string | undefined
  /** Only those after this `eventId`, which sorts by time. */
  after?: string | undefined
}

export interface ErrorFilter extends PageOptions, TimeRange {
  severity?: string | undefined
  category?: string | undefined
  operation?: string | undefined
}

export interface AuditFilter extends PageOptions, TimeRange {
  actor?: string | undefined
  action?: string | undefined
  target?: string | undefined
}

export interface BreakerEventFilter extends PageOptions, TimeRange {
  id?: string | undefined
}

/** Records that are only ever added, read and let go of with age. Lists are newest first unless asked otherwise. */
export interface Journal<T, F extends PageOptions> {
  /** Adds records in the order given, durably where the store is durable. */
  append(records: readonly T[]): Promise<void>
  list(filter?: F): Promise<Page<T>>
  /** Lets go of records older than `before`, and then of those that came first beyond `maxEntries`. Tells how many. */
  expire(limits: { before?: Date | undefined; maxEntries?: number | undefined }): Promise<number>
  count(): Promise<number>
}

export interface SessionJournal extends Journal<RetrySession, SessionFilter> {
  get(id: string): Promise<RetrySession | undefined>
}

export interface DeadLetterFilter extends PageOptions, TimeRange {
  operation?: string | undefined
  status?: DeadLetterStatus | readonly DeadLetterStatus[] | undefined
  itemId?: string | undefined
}

/** What became of an entry that was to be added. */
export type Added =
  | { result: 'added'; entry: DeadLetter }
  /** An entry with this idempotency key and the same payload is there already. */
  | { result: 'known'; entry: DeadLetter }
  /** One with this idempotency key and another payload is there already. */
  | { result: 'conflict'; entry: DeadLetter }
  | { result: 'full' }

/** What became of a request for a lease. */
export type Leased =
  | { result: 'leased'; entry: DeadLetter }
  | { result: 'missing' }
  /** Somebody else holds it, until then. */
  | { result: 'held'; until: Date }
  /** It is complete: there is nothing to replay. */
  | { result: 'done'; entry: DeadLetter }

/** How a replay ended. */
export interface Settlement {
  status: 'completed' | 'failed' | 'pending'
  at: Date
  /** Pushed onto the entry's history where it failed. */
  error?: DeadLetter['errorDetails'] | undefined
}

export interface DeadLetterStats {
  total: number
  byStatus: Record<DeadLetterStatus, number>
  byOperation: Record<string, Record<DeadLetterStatus, number>>
  /** When the oldest one that is not completed was made. */
  oldest?: Date | undefined
}

/**
 * The queue of what failed. Every change is atomic, and durable when its promise resolves. Times are handed in, so that
 * a store has no clock; `owner` is whoever holds a lease. An entry whose lease ended counts as `pending` everywhere,
 * in lists and statistics too, without anybody having to clean up.
 */
export interface DeadLetterStore {
  /**
   * How many entries are best leased together, and settled together, by a process whose handlers are that fast: for a store
   * where each change costs a round trip and a flush. @defaultValue 1
   */
  readonly leaseBatch?: number | undefined
  /**
   * Adds entries, each with its own result. `maxEntries` limits those that are not completed. Entries of one call of
   * `add` are flushed together.
   */
  add(entries: readonly DeadLetter[], limits: { maxEntries: number }): Promise<Added[]>
  get(id: string, now: Date): Promise<DeadLetter | undefined>
  /** Oldest first unless asked otherwise. */
  list(filter: DeadLetterFilter | undefined, now: Date): Promise<Page<DeadLetter>>
  /** Takes a lease: the entry is `replaying` until it is settled, or until the lease ends. */
  lease(id: string, owner: string, until: Date, now: Date): Promise<Leased>
  /** Takes leases on the oldest entries that fit and that nobody holds; those asked to be replayed only, if `requested`. */
  leaseNext(
    want: {
      operations?: readonly string[] | undefined
      statuses: readonly ('pending' | 'failed')[]
      requested?: boolean | undefined
      limit: number
      /** Ids to pass over. */
      except?: ReadonlySet<string> | undefined
    },
    owner: string,
    until: Date,
    now: Date,
  ): Promise<DeadLetter[]>
  /** False where the owner does not hold it any more. */
  renew(id: string, owner: string, until: Date, now: Date): Promise<boolean>
  /**
   * Ends a lease. `completed` notes the id among the processed for ever. Undefined where the owner does not hold it any
   * more: the result of a worker that was too late changes nothing, unless it says `completed` and nobody else completed
   * it meanwhile, because the work is done and must not be done again.
   */
  settle(id: string, owner: string, settlement: Settlement): Promise<DeadLetter | undefined>
  /** Marks complete without a replay. Undefined for an unknown id. Completing twice changes nothing. */
  complete(id: string, at: Date): Promise<DeadLetter | undefined>
  /** Notes that somebody wants it replayed. Undefined for an unknown id. */
  request(id: string, at: Date): Promise<DeadLetter | undefined>
  /** Whether it was ever completed, though it may be purged since. */
  isProcessed(id: string): Promise<boolean>
  /** Deletes entries that fit and that nobody holds. Tells how many. `ids` are single ones. */
  purge(filter: DeadLetterFilter & { ids?: readonly string[] | undefined }, now: Date): Promise<number>
  stats(now: Date): Promise<DeadLetterStats>
  /** Puts another payload in place, for the rotation of keys. */
  rewrite(id: string, payload: unknown): Promise<void>
  /**
   * Hands in who can tell whether two entries have the same payload, though it may be encrypted; it throws where a key is
   * not at hand. Absent where a store never compares what it took earlier.
   */
  compareWith?(same: (a: DeadLetter, b: DeadLetter) => boolean): void
  /**
   * Calls when somebody may have asked for a replay, in whichever process, and once when it begins to hear of that. Gives
   * what ends it. Absent where a store cannot tell: then the queue is looked at from time to time.
   */
  onRequest?(listener: () => void): () => void
}

/** One version of the layer of changes made through the API. */
export interface LayerVersion {
  version: number
  by: string
  reason?: string | undefined
  at: Date
  /** The whole layer, wire spelling: what it changes, and nothing else. */
  layer: unknown
}

export interface LayerStore {
  /** The newest version; undefined where nothing was ever changed. */
  latest(): Promise<LayerVersion | undefined>
  /** Newest first. */
  history(): Promise<LayerVersion[]>
  /**
   * Adds a version whose number is one above the newest, which must be `after` (0 for none). False where somebody else
   * was quicker: read the newest and try again.
   */
  append(version: LayerVersion, after: number): Promise<boolean>
  /** Lets go of all but the newest `maxEntries`. Tells how many. */
  expire(maxEntries: number): Promise<number>
  /** Puts another layer in place of that of a version, for the rotation of keys. Nothing happens where there is no such version. */
  rewrite(version: number, layer: unknown): Promise<void>
}

/** Snapshots of breakers that outlive the process. */
export interface BreakerStore {
  save(snapshots: readonly StoredBreaker[]): Promise<void>
  load(): Promise<StoredBreaker[]>
  delete(ids: readonly string[]): Promise<void>
}

export interface StoredBreaker {
  snapshot: BreakerSnapshot
  createdAt: Date
  updatedAt: Date
  /** What it is configured to, for people who look into the store. Nothing is restored from it, and no store need give it back. */
  settings?: { failureThreshold: number; windowDuration: number; timeoutDuration: number } | undefined
}

/** Counters of a stretch of time as plain data: they are added up when they are read. */
export interface MetricsRow {
  /** `minute:total`, `minute:policy:ID`, `minute:subsystem:NAME`, `hour:member:POOL:ID`, `hour:sketch` … */
  series: string
  /** When the stretch began, epoch milliseconds. */
  start: number
  /** Who wrote it: several processes may write rows of one series and start. */
  node: string
  data: unknown
}

export interface MetricsStore {
  /** Replaces rows of the same series, start and node. */
  save(rows: readonly MetricsRow[]): Promise<void>
  /** Rows that begin at or after `from` and before `to`, oldest first. */
  load(range: { from: number; to: number; prefix?: string | undefined }): Promise<MetricsRow[]>
  expire(before: number): Promise<number>
}

/** Small named values that must last: tokens of the server, say. */
export interface ValueStore {
  get(key: string): Promise<unknown>
  /** Keeps what JSON makes of a value. @throws INVALID_OPTIONS for what is no JSON, as undefined and functions are not */
  set(key: string, value: unknown): Promise<void>
  delete(key: string): Promise<void>
  /** Sorted by key. */
  list(prefix: string): Promise<{ key: string; value: unknown }[]>
}

/**
 * Where records live. Everything is asynchronous, no method reads a clock, and what a method promised is there after a
 * crash where the store is durable. A method that cannot do its work rejects with STORE_UNAVAILABLE.
 */
export interface Store {
  /** The scheme of its url: `memory`, `files`, `sqlite` … */
  readonly kind: string
  /** Whether one process alone can reach it, so that nobody else can have changed anything. */
  readonly private?: boolean
  /** Whether it has met records that it cannot read, and leaves out of lists. */
  readonly damaged?: boolean
  readonly sessions: SessionJournal
  readonly events: Journal<RetryEvent, EventFilter>
  readonly errors: Journal<ErrorRecord, ErrorFilter>
  readonly audit: Journal<AuditRecord, AuditFilter>
  readonly breakerEvents: Journal<CircuitBreakerEvent, BreakerEventFilter>
  readonly breakers: BreakerStore
  readonly metrics: MetricsStore
  readonly layers: LayerStore
  readonly deadLetters: DeadLetterStore
  readonly values: ValueStore
  /** Makes ready: folders, tables, migrations. */
  open(): Promise<void>
  /**
   * Says that {@link close} follows when the last records are written: a store that may not answer limits the time for both
   * together. Absent where a store always answers.
   */
  startClosing?(): void
  /** Flushes and lets go. */
  close(): Promise<void>
  /** Bytes free where it lies, where that can be known. */
  freeSpace(): Promise<number | undefined>
}

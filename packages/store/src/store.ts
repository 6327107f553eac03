import type { AuditRecord, CircuitBreakerEvent, ErrorRecord, RetryEvent } from '@holdfast/records'
import type { BreakerSnapshot } from 'holdfast'
import type { DeadLetterStore } from './dead-letter-store.js'
import type {
  AuditFilter,
  BreakerEventFilter,
  ErrorFilter,
  EventFilter,
  Journal,
  SessionJournal,
} from './journals.js'

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

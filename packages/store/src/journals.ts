import type { RetrySession } from '@holdfast/records'

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

/** The fields that the filters of all journals have. */
export interface TimeRangeFilter extends PageOptions, TimeRange {}

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

import type {
  AuditRecord,
  CircuitBreakerEvent,
  ErrorRecord,
  RetryEvent,
  RetrySession,
} from '@holdfast/records'
import type {
  AuditFilter,
  BreakerEventFilter,
  ErrorFilter,
  EventFilter,
  SessionFilter,
  TimeRange,
} from './store.js'

/** What a journal must know of its records: when each was, and whether it fits a filter but for the time. */
export interface RecordFilter<T, F> {
  timeOf(record: T): Date
  matches(record: T, filter: F): boolean
}

/** Whether a record is one that a filter asks for, by its time and by everything else. The one rule of all stores and of what runs. */
export function matchesFilter<T, F extends TimeRange>(
  { timeOf, matches }: RecordFilter<T, F>,
  record: T,
  filter: F,
): boolean {
  const { from, to } = filter
  if (from !== undefined && timeOf(record) < from) return false
  if (to !== undefined && timeOf(record) >= to) return false
  return matches(record, filter)
}

/** Whether a value is the one asked for, or nothing was asked. */
const matchesValue = <V>(value: V, expected: V | undefined): boolean =>
  expected === undefined || value === expected

/** A session's time is its beginning, its policy that of its last decision, as in metrics. */
export const sessionFilter: RecordFilter<RetrySession, SessionFilter> = {
  timeOf: (session) => session.startTime,
  matches: (session, filter) =>
    matchesValue(session.operation, filter.operation) &&
    matchesValue<unknown>(session.subsystem, filter.subsystem) &&
    matchesValue(session.correlationId, filter.correlationId) &&
    matchesValue(session.success, filter.success) &&
    matchesValue(session.policyId, filter.policyId),
}

export const eventFilter: RecordFilter<RetryEvent, EventFilter> = {
  timeOf: (event) => event.timestamp,
  matches: (event, { types, operations, sessionId, after }) =>
    (types === undefined || types.includes(event.eventType)) &&
    (operations === undefined || (event.operation != null && operations.includes(event.operation))) &&
    matchesValue<unknown>(event.sessionId, sessionId) &&
    (after === undefined || event.eventId > after),
}

export const errorFilter: RecordFilter<ErrorRecord, ErrorFilter> = {
  timeOf: (error) => error.timestamp,
  matches: (error, filter) =>
    matchesValue<string>(error.severity, filter.severity) &&
    matchesValue<string>(error.category, filter.category) &&
    matchesValue<unknown>(error.context.operation, filter.operation),
}

export const auditFilter: RecordFilter<AuditRecord, AuditFilter> = {
  timeOf: (audit) => audit.timestamp,
  matches: (audit, { actor, action, target }) =>
    matchesValue(audit.actor, actor) &&
    matchesValue<string>(audit.action, action) &&
    matchesValue(audit.target, target),
}

export const breakerEventFilter: RecordFilter<CircuitBreakerEvent, BreakerEventFilter> = {
  timeOf: (event) => event.timestamp,
  matches: (event, { id }) => matchesValue(event.id, id),
}

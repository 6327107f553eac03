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

/** How a journal filters its records: the time of a record, and whether the record matches the other fields of a filter. */
export interface RecordFilter<T, F> {
  timeOf(record: T): Date
  matches(record: T, filter: F): boolean
}

/** Whether a record matches a filter, by its time and all other fields. All stores and the lists of active sessions use it. */
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

/** Whether a value is the expected one. Every value matches if none is expected. */
const matchesValue = <V>(value: V, expected: V | undefined): boolean =>
  expected === undefined || value === expected

/** The time of a session is its start, its policy is that of the last decision, as in metrics. */
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

import type { CircuitBreakerEvent } from '../records/breaker.js'
import type { AuditRecord, ErrorRecord } from '../records/errors.js'
import type { RetryEvent, RetrySession } from '../records/session.js'
import type {
  AuditFilter,
  BreakerEventFilter,
  ErrorFilter,
  EventFilter,
  SessionFilter,
  TimeRange,
} from './store.js'

/** What a journal must know of its records: when each was, and whether it fits a filter but for the time. */
export interface Nature<T, F> {
  time(record: T): Date
  fits(record: T, filter: F): boolean
}

/** Whether a record is one that a filter asks for, by its time and by everything else. The one rule of all stores and of what runs. */
export function matchesFilter<T, F extends TimeRange>(
  { time, fits }: Nature<T, F>,
  record: T,
  filter: F,
): boolean {
  const { from, to } = filter
  if (from !== undefined && time(record) < from) return false
  if (to !== undefined && time(record) >= to) return false
  return fits(record, filter)
}

/** Whether a value is the one asked for, or nothing was asked. */
const is = <V>(value: V, wanted: V | undefined): boolean => wanted === undefined || value === wanted

/** A session's time is its beginning, its policy that of its last decision, as in metrics. */
export const sessionNature: Nature<RetrySession, SessionFilter> = {
  time: (session) => session.startTime,
  fits: (session, filter) =>
    is(session.operation, filter.operation) &&
    is<unknown>(session.subsystem, filter.subsystem) &&
    is(session.correlationId, filter.correlationId) &&
    is(session.success, filter.success) &&
    is(session.policyId, filter.policyId),
}

export const eventNature: Nature<RetryEvent, EventFilter> = {
  time: (event) => event.timestamp,
  fits: (event, { types, operations, sessionId, after }) =>
    (types === undefined || types.includes(event.eventType)) &&
    (operations === undefined || (event.operation != null && operations.includes(event.operation))) &&
    is<unknown>(event.sessionId, sessionId) &&
    (after === undefined || event.eventId > after),
}

export const errorNature: Nature<ErrorRecord, ErrorFilter> = {
  time: (error) => error.timestamp,
  fits: (error, filter) =>
    is<string>(error.severity, filter.severity) &&
    is<string>(error.category, filter.category) &&
    is<unknown>(error.context.operation, filter.operation),
}

export const auditNature: Nature<AuditRecord, AuditFilter> = {
  time: (audit) => audit.timestamp,
  fits: (audit, { actor, action, target }) =>
    is(audit.actor, actor) && is<string>(audit.action, action) && is(audit.target, target),
}

export const breakerEventNature: Nature<CircuitBreakerEvent, BreakerEventFilter> = {
  time: (event) => event.timestamp,
  fits: (event, { id }) => is(event.id, id),
}

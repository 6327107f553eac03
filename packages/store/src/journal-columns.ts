import type {
  AuditRecord,
  CircuitBreakerEvent,
  ErrorRecord,
  RetryEvent,
  RetrySession,
} from '@holdfast/records'
import type { AuditFilter, BreakerEventFilter, ErrorFilter, EventFilter, SessionFilter } from './journals.js'

type JournalValue = string | boolean | null | undefined

/** A field by which the records of a journal are filtered. Databases have a column for it. */
interface JournalColumn<T, F> {
  /** The column of a table with one record per row. */
  readonly name: string
  /** The column of a table with several records per row, for the values of all of them. */
  readonly plural: string
  readonly type: 'text' | 'boolean'
  value(record: T): JournalValue
  /** The value that a filter requires, or a list of which it requires one; undefined if it accepts every record. */
  expected(filter: F): string | boolean | readonly string[] | undefined
}

/** The columns of a journal: the source of its filter and of its tables. */
export interface JournalColumns<T, F> {
  readonly table: 'sessions' | 'events' | 'errors' | 'audit' | 'breaker_events'
  timeOf(record: T): Date
  readonly columns: readonly JournalColumn<T, F>[]
  /** A column with ids that sort by time. A table with several records per row has the greatest id of them. */
  readonly sortedId?: {
    readonly name: string
    readonly greatest: string
    value(record: T): string
    /** The id after which a filter requires records. */
    after(filter: F): string | undefined
  }
}

/** A text column: a field of the record, and the field of the filter with its expected value, if there is one. */
const text = <T, F>(
  name: string,
  plural: string,
  field: keyof T,
  filterField: keyof F | undefined,
): JournalColumn<T, F> => ({
  name,
  plural,
  type: 'text',
  value: (record) => record[field] as string | null | undefined,
  expected: (filter) => (filterField === undefined ? undefined : (filter[filterField] as string | undefined)),
})

/** The time of a session is its start, its policy is that of the last decision, as in metrics. */
export const sessionColumns: JournalColumns<RetrySession, SessionFilter> = {
  table: 'sessions',
  timeOf: ({ startTime }) => startTime,
  columns: [
    text('session_id', 'session_ids', 'sessionId', undefined),
    text('operation', 'operations', 'operation', 'operation'),
    text('subsystem', 'subsystems', 'subsystem', 'subsystem'),
    text('correlation_id', 'correlation_ids', 'correlationId', 'correlationId'),
    {
      name: 'success',
      plural: 'successes',
      type: 'boolean',
      value: ({ success }) => success,
      expected: ({ success }) => success,
    },
    text('policy_id', 'policy_ids', 'policyId', 'policyId'),
  ],
}

export const eventColumns: JournalColumns<RetryEvent, EventFilter> = {
  table: 'events',
  timeOf: ({ timestamp }) => timestamp,
  sortedId: {
    name: 'event_id',
    greatest: 'last_event_id',
    value: ({ eventId }) => eventId,
    after: ({ after }) => after,
  },
  columns: [
    text('event_type', 'event_types', 'eventType', 'types'),
    text('operation', 'operations', 'operation', 'operations'),
    text('session_id', 'session_ids', 'sessionId', 'sessionId'),
  ],
}

export const errorColumns: JournalColumns<ErrorRecord, ErrorFilter> = {
  table: 'errors',
  timeOf: ({ timestamp }) => timestamp,
  columns: [
    text('severity', 'severities', 'severity', 'severity'),
    text('category', 'categories', 'category', 'category'),
    {
      name: 'operation',
      plural: 'operations',
      type: 'text',
      value: ({ context: { operation } }) => (typeof operation === 'string' ? operation : null),
      expected: ({ operation }) => operation,
    },
  ],
}

export const auditColumns: JournalColumns<AuditRecord, AuditFilter> = {
  table: 'audit',
  timeOf: ({ timestamp }) => timestamp,
  columns: [
    text('actor', 'actors', 'actor', 'actor'),
    text('action', 'actions', 'action', 'action'),
    text('target', 'targets', 'target', 'target'),
  ],
}

export const breakerEventColumns: JournalColumns<CircuitBreakerEvent, BreakerEventFilter> = {
  table: 'breaker_events',
  timeOf: ({ timestamp }) => timestamp,
  columns: [text('id', 'ids', 'id', 'id')],
}

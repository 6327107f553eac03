import {
  type auditSchema,
  auditText,
  type breakerEventSchema,
  breakerEventText,
  type CamelCased,
  type errorRecordSchema,
  errorRecordText,
  type eventSchema,
  eventText,
  type sessionSchema,
  sessionText,
  type TextCodec,
} from '@holdfast/records'
import type { z } from 'zod'
import {
  auditFilter,
  breakerEventFilter,
  errorFilter,
  eventFilter,
  type RecordFilter,
  sessionFilter,
} from '../filters.js'
import type { AuditFilter, BreakerEventFilter, ErrorFilter, EventFilter, SessionFilter } from '../store.js'
import type { SqliteValue } from './driver.js'

/** A condition on columns. */
export type SqlCondition = readonly [sql: string, ...values: SqliteValue[]]

/** The columns by which the rows of a journal are found. They only reduce the records to read; `recordFilter` decides. */
export interface JournalTable<S extends z.ZodType, F> {
  readonly table: string
  readonly text: TextCodec<S>
  readonly recordFilter: RecordFilter<CamelCased<S>, F>
  /** Columns with the distinct values of the records in a row. */
  readonly columns: readonly string[]
  /** The values of a record, in the order of the columns. */
  values(record: CamelCased<S>): readonly (string | null | undefined)[]
  /** A column before those, with the greatest value of the records in a row. */
  readonly greatest?: { readonly column: string; of(record: CamelCased<S>): string }
  conditions(filter: F): SqlCondition[]
}

/** A column that must contain a value, if one is given. */
const equalsCondition = (column: string, value: string | undefined): SqlCondition[] =>
  value === undefined ? [] : [[`instr(${column}, ?)`, JSON.stringify(value)]]

/** A column that must contain one of several values. */
const oneOfCondition = (column: string, values: readonly string[] | undefined): SqlCondition[] =>
  values === undefined
    ? []
    : [
        [
          `(${values.map(() => `instr(${column}, ?)`).join(' OR ') || 'FALSE'})`,
          ...values.map((value) => JSON.stringify(value)),
        ],
      ]

export const sessionTable: JournalTable<typeof sessionSchema, SessionFilter> = {
  table: 'sessions',
  text: sessionText,
  recordFilter: sessionFilter,
  columns: ['session_ids', 'operations', 'subsystems', 'correlation_ids', 'successes', 'policy_ids'],
  values: ({ sessionId, operation, subsystem, correlationId, success, policyId }) => [
    sessionId,
    operation,
    subsystem,
    correlationId,
    success ? '1' : '0',
    policyId,
  ],
  conditions: ({ operation, subsystem, correlationId, success, policyId }) => [
    ...equalsCondition('operations', operation),
    ...equalsCondition('subsystems', subsystem),
    ...equalsCondition('correlation_ids', correlationId),
    ...equalsCondition('successes', success === undefined ? undefined : success ? '1' : '0'),
    ...equalsCondition('policy_ids', policyId),
  ],
}

export const eventTable: JournalTable<typeof eventSchema, EventFilter> = {
  table: 'events',
  text: eventText,
  recordFilter: eventFilter,
  greatest: { column: 'last_event_id', of: ({ eventId }) => eventId },
  columns: ['event_types', 'operations', 'session_ids'],
  values: ({ eventType, operation, sessionId }) => [eventType, operation, sessionId],
  conditions: ({ types, operations, sessionId, after }) => [
    ...oneOfCondition('event_types', types),
    ...oneOfCondition('operations', operations),
    ...equalsCondition('session_ids', sessionId),
    ...(after === undefined ? [] : [['last_event_id > ?', after] as const]),
  ],
}

export const errorTable: JournalTable<typeof errorRecordSchema, ErrorFilter> = {
  table: 'errors',
  text: errorRecordText,
  recordFilter: errorFilter,
  columns: ['severities', 'categories', 'operations'],
  values: ({ severity, category, context: { operation } }) => [
    severity,
    category,
    typeof operation === 'string' ? operation : null,
  ],
  conditions: ({ severity, category, operation }) => [
    ...equalsCondition('severities', severity),
    ...equalsCondition('categories', category),
    ...equalsCondition('operations', operation),
  ],
}

export const auditTable: JournalTable<typeof auditSchema, AuditFilter> = {
  table: 'audit',
  text: auditText,
  recordFilter: auditFilter,
  columns: ['actors', 'actions', 'targets'],
  values: ({ actor, action, target }) => [actor, action, target],
  conditions: ({ actor, action, target }) => [
    ...equalsCondition('actors', actor),
    ...equalsCondition('actions', action),
    ...equalsCondition('targets', target),
  ],
}

export const breakerEventTable: JournalTable<typeof breakerEventSchema, BreakerEventFilter> = {
  table: 'breaker_events',
  text: breakerEventText,
  recordFilter: breakerEventFilter,
  columns: ['ids'],
  values: ({ id }) => [id],
  conditions: ({ id }) => equalsCondition('ids', id),
}

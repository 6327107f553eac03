import {
  auditCodec,
  type auditSchema,
  breakerEventCodec,
  type breakerEventSchema,
  type CamelCased,
  type Codec,
  errorRecordCodec,
  type errorRecordSchema,
  eventCodec,
  type eventSchema,
  sessionCodec,
  type sessionSchema,
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
import { toColumn } from '../text.js'
import type { PostgresValue } from './driver.js'
import { LOCKS } from './locks.js'

/** A condition on a column, with its value at the `?`. */
type PostgresCondition = readonly [sql: string, value: PostgresValue]

/** The columns by which the records of a journal are found. They only reduce the records to read; `recordFilter` decides. */
export interface PartitionedJournal<S extends z.ZodType, F> {
  readonly table: keyof typeof LOCKS
  /** How many days a partition covers. */
  readonly partitionDays: number
  /** Names of columns, with their types. */
  readonly columns: Readonly<Record<string, 'text' | 'boolean'>>
  readonly codec: Codec<S>
  readonly recordFilter: RecordFilter<CamelCased<S>, F>
  /** The values of the columns, in the same order. */
  values(record: CamelCased<S>): (string | boolean | null)[]
  conditions(filter: F): PostgresCondition[]
}

const nullIfAbsent = (value: string | null | undefined) => (value == null ? null : toColumn(value))

/** A column that must have a value, if one is given. */
const equalsCondition = (column: string, value: string | undefined): PostgresCondition[] =>
  value === undefined ? [] : [[`${column} = ?`, toColumn(value)]]

/** A column that must have one of several values. */
const oneOfCondition = (column: string, values: readonly string[] | undefined): PostgresCondition[] =>
  values === undefined ? [] : [[`${column} = ANY(?::text[])`, values.map(toColumn)]]

export const sessionJournal: PartitionedJournal<typeof sessionSchema, SessionFilter> = {
  table: 'sessions',
  partitionDays: 1,
  columns: {
    session_id: 'text',
    operation: 'text',
    subsystem: 'text',
    correlation_id: 'text',
    success: 'boolean',
    policy_id: 'text',
  },
  codec: sessionCodec,
  recordFilter: sessionFilter,
  values: ({ sessionId, operation, subsystem, correlationId, success, policyId }) => [
    nullIfAbsent(sessionId),
    nullIfAbsent(operation),
    nullIfAbsent(subsystem),
    nullIfAbsent(correlationId),
    success,
    nullIfAbsent(policyId),
  ],
  conditions: ({ operation, subsystem, correlationId, success, policyId }) => [
    ...equalsCondition('operation', operation),
    ...equalsCondition('subsystem', subsystem),
    ...equalsCondition('correlation_id', correlationId),
    ...(success === undefined ? [] : [['success = ?', success] as const]),
    ...equalsCondition('policy_id', policyId),
  ],
}

export const eventJournal: PartitionedJournal<typeof eventSchema, EventFilter> = {
  table: 'events',
  partitionDays: 1,
  columns: { event_id: 'text', event_type: 'text', operation: 'text', session_id: 'text' },
  codec: eventCodec,
  recordFilter: eventFilter,
  values: ({ eventId, eventType, operation, sessionId }) => [
    nullIfAbsent(eventId),
    eventType,
    nullIfAbsent(operation),
    nullIfAbsent(sessionId),
  ],
  conditions: ({ types, operations, sessionId, after }) => [
    ...oneOfCondition('event_type', types),
    ...oneOfCondition('operation', operations),
    ...equalsCondition('session_id', sessionId),
    ...(after === undefined ? [] : [['event_id > ?', toColumn(after)] as const]),
  ],
}

export const errorJournal: PartitionedJournal<typeof errorRecordSchema, ErrorFilter> = {
  table: 'errors',
  partitionDays: 1,
  columns: { severity: 'text', category: 'text', operation: 'text' },
  codec: errorRecordCodec,
  recordFilter: errorFilter,
  values: ({ severity, category, context: { operation } }) => [
    severity,
    category,
    typeof operation === 'string' ? toColumn(operation) : null,
  ],
  conditions: ({ severity, category, operation }) => [
    ...equalsCondition('severity', severity),
    ...equalsCondition('category', category),
    ...equalsCondition('operation', operation),
  ],
}

export const auditJournal: PartitionedJournal<typeof auditSchema, AuditFilter> = {
  table: 'audit',
  partitionDays: 90,
  columns: { actor: 'text', action: 'text', target: 'text' },
  codec: auditCodec,
  recordFilter: auditFilter,
  values: ({ actor, action, target }) => [nullIfAbsent(actor), nullIfAbsent(action), nullIfAbsent(target)],
  conditions: ({ actor, action, target }) => [
    ...equalsCondition('actor', actor),
    ...equalsCondition('action', action),
    ...equalsCondition('target', target),
  ],
}

export const breakerEventJournal: PartitionedJournal<typeof breakerEventSchema, BreakerEventFilter> = {
  table: 'breaker_events',
  partitionDays: 90,
  columns: { id: 'text' },
  codec: breakerEventCodec,
  recordFilter: breakerEventFilter,
  values: ({ id }) => [nullIfAbsent(id)],
  conditions: ({ id }) => equalsCondition('id', id),
}

import type { z } from 'zod'
import type { Codec, Twin } from '../../codec/twin.js'
import { breakerEventCodec, type breakerEventSchema } from '../../records/breaker.js'
import {
  auditCodec,
  type auditSchema,
  errorRecordCodec,
  type errorRecordSchema,
} from '../../records/errors.js'
import { eventCodec, type eventSchema, sessionCodec, type sessionSchema } from '../../records/session.js'
import {
  auditNature,
  breakerEventNature,
  errorNature,
  eventNature,
  type Nature,
  sessionNature,
} from '../fits.js'
import type { AuditFilter, BreakerEventFilter, ErrorFilter, EventFilter, SessionFilter } from '../store.js'
import { toColumn } from '../text.js'
import type { Value } from './driver.js'
import { LOCKS } from './locks.js'

/** A condition on a column: what to compare it with stands at the `?`. */
type Condition = readonly [sql: string, value: Value]

/** Which columns a journal's records are found by. `nature` has the last word: columns only spare reading records. */
export interface Shape<S extends z.ZodType, F> {
  readonly table: keyof typeof LOCKS
  /** How many days a partition holds. */
  readonly days: number
  /** Names of columns, with their types. */
  readonly columns: Readonly<Record<string, 'text' | 'boolean'>>
  readonly codec: Codec<S>
  readonly nature: Nature<Twin<S>, F>
  /** The columns' values, in their order. */
  values(record: Twin<S>): (string | boolean | null)[]
  conditions(filter: F): Condition[]
}

const text = (value: string | null | undefined) => (value == null ? null : toColumn(value))

/** A column that must have one value, where one is asked for. */
const equals = (column: string, value: string | undefined): Condition[] =>
  value === undefined ? [] : [[`${column} = ?`, toColumn(value)]]

/** A column that must have one of several values. */
const among = (column: string, values: readonly string[] | undefined): Condition[] =>
  values === undefined ? [] : [[`${column} = ANY(?::text[])`, values.map(toColumn)]]

export const sessionShape: Shape<typeof sessionSchema, SessionFilter> = {
  table: 'sessions',
  days: 1,
  columns: {
    session_id: 'text',
    operation: 'text',
    subsystem: 'text',
    correlation_id: 'text',
    success: 'boolean',
    policy_id: 'text',
  },
  codec: sessionCodec,
  nature: sessionNature,
  values: ({ sessionId, operation, subsystem, correlationId, success, policyId }) => [
    text(sessionId),
    text(operation),
    text(subsystem),
    text(correlationId),
    success,
    text(policyId),
  ],
  conditions: ({ operation, subsystem, correlationId, success, policyId }) => [
    ...equals('operation', operation),
    ...equals('subsystem', subsystem),
    ...equals('correlation_id', correlationId),
    ...(success === undefined ? [] : [['success = ?', success] as const]),
    ...equals('policy_id', policyId),
  ],
}

export const eventShape: Shape<typeof eventSchema, EventFilter> = {
  table: 'events',
  days: 1,
  columns: { event_id: 'text', event_type: 'text', operation: 'text', session_id: 'text' },
  codec: eventCodec,
  nature: eventNature,
  values: ({ eventId, eventType, operation, sessionId }) => [
    text(eventId),
    eventType,
    text(operation),
    text(sessionId),
  ],
  conditions: ({ types, operations, sessionId, after }) => [
    ...among('event_type', types),
    ...among('operation', operations),
    ...equals('session_id', sessionId),
    ...(after === undefined ? [] : [['event_id > ?', toColumn(after)] as const]),
  ],
}

export const errorShape: Shape<typeof errorRecordSchema, ErrorFilter> = {
  table: 'errors',
  days: 1,
  columns: { severity: 'text', category: 'text', operation: 'text' },
  codec: errorRecordCodec,
  nature: errorNature,
  values: ({ severity, category, context: { operation } }) => [
    severity,
    category,
    typeof operation === 'string' ? toColumn(operation) : null,
  ],
  conditions: ({ severity, category, operation }) => [
    ...equals('severity', severity),
    ...equals('category', category),
    ...equals('operation', operation),
  ],
}

export const auditShape: Shape<typeof auditSchema, AuditFilter> = {
  table: 'audit',
  days: 90,
  columns: { actor: 'text', action: 'text', target: 'text' },
  codec: auditCodec,
  nature: auditNature,
  values: ({ actor, action, target }) => [text(actor), text(action), text(target)],
  conditions: ({ actor, action, target }) => [
    ...equals('actor', actor),
    ...equals('action', action),
    ...equals('target', target),
  ],
}

export const breakerEventShape: Shape<typeof breakerEventSchema, BreakerEventFilter> = {
  table: 'breaker_events',
  days: 90,
  columns: { id: 'text' },
  codec: breakerEventCodec,
  nature: breakerEventNature,
  values: ({ id }) => [text(id)],
  conditions: ({ id }) => equals('id', id),
}

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
import type { Value } from './driver.js'

/** A condition on columns. */
export type Condition = readonly [sql: string, ...values: Value[]]

/** Which columns a journal's records are found by. `nature` has the last word: columns only spare reading records. */
export interface Shape<S extends z.ZodType, F> {
  readonly table: string
  readonly columns: readonly string[]
  readonly codec: Codec<S>
  readonly nature: Nature<Twin<S>, F>
  /** The columns' values, in their order. */
  values(record: Twin<S>): Value[]
  conditions(filter: F): Condition[]
}

/** A column that must have one value, where one is asked for. */
const equals = (column: string, value: string | undefined): Condition[] =>
  value === undefined ? [] : [[`${column} = ?`, value]]

/** A column that must have one of several values. */
const among = (column: string, values: readonly string[] | undefined): Condition[] =>
  values === undefined ? [] : [[`${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(values)]]

export const sessionShape: Shape<typeof sessionSchema, SessionFilter> = {
  table: 'sessions',
  columns: ['session_id', 'operation', 'subsystem', 'correlation_id', 'success', 'policy_ids'],
  codec: sessionCodec,
  nature: sessionNature,
  values: ({ sessionId, operation, subsystem, correlationId, success, policyId, policyIds }) => [
    sessionId,
    operation,
    subsystem ?? null,
    correlationId,
    success ? 1 : 0,
    policyIds.length === 1 && policyIds[0] === policyId ? policyId : [policyId, ...policyIds].join('\n'),
  ],
  conditions: ({ operation, subsystem, correlationId, success, policyId }) => [
    ...equals('operation', operation),
    ...equals('subsystem', subsystem),
    ...equals('correlation_id', correlationId),
    ...(success === undefined ? [] : [['success = ?', success ? 1 : 0] as const]),
    ...(policyId === undefined ? [] : [['instr(policy_ids, ?) > 0', policyId] as const]),
  ],
}

export const eventShape: Shape<typeof eventSchema, EventFilter> = {
  table: 'events',
  columns: ['event_id', 'event_type', 'operation', 'session_id'],
  codec: eventCodec,
  nature: eventNature,
  values: ({ eventId, eventType, operation, sessionId }) => [
    eventId,
    eventType,
    operation ?? null,
    sessionId ?? null,
  ],
  conditions: ({ types, operations, sessionId, after }) => [
    ...among('event_type', types),
    ...among('operation', operations),
    ...equals('session_id', sessionId),
    ...(after === undefined ? [] : [['event_id > ?', after] as const]),
  ],
}

export const errorShape: Shape<typeof errorRecordSchema, ErrorFilter> = {
  table: 'errors',
  columns: ['severity', 'category', 'operation'],
  codec: errorRecordCodec,
  nature: errorNature,
  values: ({ severity, category, context: { operation } }) => [
    severity,
    category,
    typeof operation === 'string' ? operation : null,
  ],
  conditions: ({ severity, category, operation }) => [
    ...equals('severity', severity),
    ...equals('category', category),
    ...equals('operation', operation),
  ],
}

export const auditShape: Shape<typeof auditSchema, AuditFilter> = {
  table: 'audit',
  columns: ['actor', 'action', 'target'],
  codec: auditCodec,
  nature: auditNature,
  values: ({ actor, action, target }) => [actor, action, target],
  conditions: ({ actor, action, target }) => [
    ...equals('actor', actor),
    ...equals('action', action),
    ...equals('target', target),
  ],
}

export const breakerEventShape: Shape<typeof breakerEventSchema, BreakerEventFilter> = {
  table: 'breaker_events',
  columns: ['id'],
  codec: breakerEventCodec,
  nature: breakerEventNature,
  values: ({ id }) => [id],
  conditions: ({ id }) => equals('id', id),
}

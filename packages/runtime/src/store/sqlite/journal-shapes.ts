import type { z } from 'zod'
import type { TextCodec } from '../../codec/text.js'
import type { Twin } from '../../codec/twin.js'
import type { breakerEventSchema } from '../../records/breaker.js'
import type { auditSchema, errorRecordSchema } from '../../records/errors.js'
import type { eventSchema, sessionSchema } from '../../records/session.js'
import { auditText, breakerEventText, errorRecordText, eventText, sessionText } from '../../records/text.js'
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

/** Which columns a journal's rows are found by. `nature` has the last word: columns only spare reading records. */
export interface Shape<S extends z.ZodType, F> {
  readonly table: string
  readonly text: TextCodec<S>
  readonly nature: Nature<Twin<S>, F>
  /** Columns that hold which values the records of a row have. */
  readonly columns: readonly string[]
  /** A record's values, in the columns' order. */
  values(record: Twin<S>): readonly (string | null | undefined)[]
  /** A column before those, with the greatest value that a record of the row has. */
  readonly greatest?: { readonly column: string; of(record: Twin<S>): string }
  conditions(filter: F): Condition[]
}

/** A column that must hold one value, where one is asked for. */
const has = (column: string, value: string | undefined): Condition[] =>
  value === undefined ? [] : [[`instr(${column}, ?)`, JSON.stringify(value)]]

/** A column that must hold one of several values. */
const hasOne = (column: string, values: readonly string[] | undefined): Condition[] =>
  values === undefined
    ? []
    : [
        [
          `(${values.map(() => `instr(${column}, ?)`).join(' OR ') || 'FALSE'})`,
          ...values.map((value) => JSON.stringify(value)),
        ],
      ]

export const sessionShape: Shape<typeof sessionSchema, SessionFilter> = {
  table: 'sessions',
  text: sessionText,
  nature: sessionNature,
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
    ...has('operations', operation),
    ...has('subsystems', subsystem),
    ...has('correlation_ids', correlationId),
    ...has('successes', success === undefined ? undefined : success ? '1' : '0'),
    ...has('policy_ids', policyId),
  ],
}

export const eventShape: Shape<typeof eventSchema, EventFilter> = {
  table: 'events',
  text: eventText,
  nature: eventNature,
  greatest: { column: 'last_event_id', of: ({ eventId }) => eventId },
  columns: ['event_types', 'operations', 'session_ids'],
  values: ({ eventType, operation, sessionId }) => [eventType, operation, sessionId],
  conditions: ({ types, operations, sessionId, after }) => [
    ...hasOne('event_types', types),
    ...hasOne('operations', operations),
    ...has('session_ids', sessionId),
    ...(after === undefined ? [] : [['last_event_id > ?', after] as const]),
  ],
}

export const errorShape: Shape<typeof errorRecordSchema, ErrorFilter> = {
  table: 'errors',
  text: errorRecordText,
  nature: errorNature,
  columns: ['severities', 'categories', 'operations'],
  values: ({ severity, category, context: { operation } }) => [
    severity,
    category,
    typeof operation === 'string' ? operation : null,
  ],
  conditions: ({ severity, category, operation }) => [
    ...has('severities', severity),
    ...has('categories', category),
    ...has('operations', operation),
  ],
}

export const auditShape: Shape<typeof auditSchema, AuditFilter> = {
  table: 'audit',
  text: auditText,
  nature: auditNature,
  columns: ['actors', 'actions', 'targets'],
  values: ({ actor, action, target }) => [actor, action, target],
  conditions: ({ actor, action, target }) => [
    ...has('actors', actor),
    ...has('actions', action),
    ...has('targets', target),
  ],
}

export const breakerEventShape: Shape<typeof breakerEventSchema, BreakerEventFilter> = {
  table: 'breaker_events',
  text: breakerEventText,
  nature: breakerEventNature,
  columns: ['ids'],
  values: ({ id }) => [id],
  conditions: ({ id }) => has('ids', id),
}

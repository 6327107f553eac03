import { z } from 'zod'
import { type CamelCased, createCodec } from './codec/case-codec.js'
import { describeFields } from './codec/describe-fields.js'
import { nonNegativeIntegerField, openWord, timestamp, userData, userObject } from './codec/record-fields.js'
import { AUDIT_ACTIONS, ERROR_CATEGORIES, SEVERITIES } from './constants.js'

/** The schema of an error record, in the wire format. */
export const errorRecordSchema = describeFields(
  z.object({
    schema: z.string().optional(),
    timestamp: timestamp(),
    severity: z.enum(SEVERITIES),
    category: z.enum(ERROR_CATEGORIES),
    message: z.string().min(1),
    error_type: z.string(),
    stack_trace: z.string().nullish(),
    context: userObject(),
    http_status: z.int().nullish(),
    retry_count: nonNegativeIntegerField(),
    kind: z.string(),
    session_id: z.string().nullish(),
  }),
  {
    schema: 'The version of the record format.',
    timestamp: 'When the error happened.',
    severity: 'The severity of the error.',
    category: '`TRANSIENT`: a retry can succeed; `PERMANENT`: it cannot; `CRITICAL`: a person must act.',
    message: 'The message, without secrets.',
    error_type: 'The name of the error class.',
    stack_trace: 'The stack, only in debug mode.',
    context: 'The operation and other data about the call.',
    http_status: 'The HTTP status, if there is one.',
    retry_count: 'The number of retries before this attempt.',
    kind: 'The kind of failure.',
    session_id: 'The session of the call.',
  },
)
/** The record of one failed attempt or one opening of a breaker, for operators. `context.operation` is always present. */
export type ErrorRecord = CamelCased<typeof errorRecordSchema>
/** Converts an error record between the wire format and TypeScript. */
export const errorRecordCodec = createCodec(errorRecordSchema)

/** The schema of an audit record, in the wire format. */
export const auditSchema = describeFields(
  z.object({
    schema: z.string().optional(),
    audit_id: z.string().min(1),
    timestamp: timestamp(),
    actor: z.string().min(1),
    action: openWord(AUDIT_ACTIONS),
    target: z.string(),
    reason: z.string().nullish(),
    before: userData().optional(),
    after: userData().optional(),
  }),
  {
    schema: 'The version of the record format.',
    audit_id: 'The id of the record.',
    timestamp: 'When the action happened.',
    actor: 'The person or program that performed the action.',
    action: 'The action.',
    target: 'The object that was changed or read.',
    reason: 'The reason, if one was given.',
    before: 'The value before the change.',
    after: 'The value after the change.',
  },
)
/** The record of a change or a read: the actor, the action, the target, the time and the reason. */
export type AuditRecord = CamelCased<typeof auditSchema>
/** Converts an audit record between the wire format and TypeScript. */
export const auditCodec = createCodec(auditSchema)

import { z } from 'zod'
import { type CamelCased, createCodec } from './codec/case-codec.js'
import { nonNegativeIntegerField, openWord, timestamp, userData, userObject } from './codec/record-fields.js'

export const SEVERITIES = ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'] as const

export const errorRecordSchema = z.object({
  schema: z.string().optional(),
  timestamp: timestamp(),
  severity: z.enum(SEVERITIES),
  category: z.enum(['TRANSIENT', 'PERMANENT', 'CRITICAL']),
  message: z.string().min(1),
  error_type: z.string(),
  stack_trace: z.string().nullish(),
  context: userObject(),
  http_status: z.int().nullish(),
  retry_count: nonNegativeIntegerField(),
  kind: z.string(),
  session_id: z.string().nullish(),
})
/** The record of one failed attempt or one opening of a breaker, for operators. `context.operation` is always present. */
export type ErrorRecord = CamelCased<typeof errorRecordSchema>
export const errorRecordCodec = createCodec(errorRecordSchema)

export const AUDIT_ACTIONS = [
  'policy.put',
  'policy.delete',
  'config.reload',
  'config.reject',
  'config.rollback',
  'config.clear',
  'breaker.reset',
  'breaker.trip',
  'dead_letter.replay',
  'dead_letter.purge',
  'dead_letter.complete',
  'session.cancel',
  'session.read',
  'metrics.read',
  'member.add',
  'member.remove',
  'member.change',
  'token.create',
  'token.revoke',
] as const

export const auditSchema = z.object({
  schema: z.string().optional(),
  audit_id: z.string().min(1),
  timestamp: timestamp(),
  actor: z.string().min(1),
  action: openWord(AUDIT_ACTIONS),
  target: z.string(),
  reason: z.string().nullish(),
  before: userData().optional(),
  after: userData().optional(),
})
/** Who did what to what, when and why. */
export type AuditRecord = CamelCased<typeof auditSchema>
export type AuditAction = (typeof AUDIT_ACTIONS)[number]
export const auditCodec = createCodec(auditSchema)

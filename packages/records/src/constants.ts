/**
 * The fixed names and numbers of records, without schemas, for code that must not load them: the dashboard and the commands.
 *
 * @packageDocumentation
 */

import { ATTEMPT_OUTCOMES } from 'holdfast/internal'

export { DAY_MS, HOUR_MS, MINUTE_MS } from './durations.js'

/** How an attempt ended. */
export const OUTCOMES = ATTEMPT_OUTCOMES

/** The parts of Holdfast that emit events. */
export const EVENT_COMPONENTS = [
  'retry_manager',
  'circuit_breaker',
  'dead_letters',
  'config',
  'pool',
] as const

/** The statuses of a dead letter. */
export const DEAD_LETTER_STATUSES = ['pending', 'replaying', 'completed', 'failed'] as const

/** The severities of error records, lowest first. */
export const SEVERITIES = ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'] as const

/** The severities that a runtime writes. Records of other systems can have the others. */
export const WRITTEN_SEVERITIES = [
  'WARNING',
  'ERROR',
  'CRITICAL',
] as const satisfies readonly (typeof SEVERITIES)[number][]

/** The categories of error records. */
export const ERROR_CATEGORIES = ['TRANSIENT', 'PERMANENT', 'CRITICAL'] as const

/** The actions that audit records have. */
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
  'dead_letter.edit',
  'session.cancel',
  'session.read',
  'metrics.read',
  'member.add',
  'member.remove',
  'member.change',
  'token.create',
  'token.revoke',
] as const

/** One of the actions that audit records have. */
export type AuditAction = (typeof AUDIT_ACTIONS)[number]

/** The states of the health of a runtime. */
export const HEALTH_STATUSES = ['ok', 'degraded', 'closed'] as const

/** One of the states of the health of a runtime. */
export type HealthStatus = (typeof HEALTH_STATUSES)[number]

/** The id of the policy that applies where no other does. */
export const DEFAULT_POLICY_ID = 'default'

/** Control characters and line breaks, which could change a terminal or look like further lines of a log. */
// oxlint-disable-next-line no-control-regex -- it removes control characters
export const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g

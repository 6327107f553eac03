// Every record by its schema, type and codec: what `@holdfast/runtime` exports of them.
export * from './breaker.js'
export {
  AUDIT_ACTIONS,
  type AuditAction,
  DEAD_LETTER_STATUSES,
  type HealthStatus,
  OUTCOMES,
  SEVERITIES,
} from './constants.js'
export * from './dead-letter.js'
export * from './errors.js'
export * from './event-types.js'
export * from './metrics.js'
export * from './policy.js'
export * from './responses.js'
export * from './session.js'
export * from './stop-reasons.js'

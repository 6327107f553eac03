export {
  breakerCodec,
  breakerEventCodec,
  type breakerEventSchema,
  type breakerSchema,
  type CircuitBreakerEvent,
  type CircuitBreakerState,
} from './breaker.js'
export {
  type CamelCased,
  type Codec,
  camelKey,
  createCodec,
  type SnakeCase,
  snakeKey,
} from './codec/case-codec.js'
export { expandDeltas, type TextCodec } from './codec/json-writer.js'
export {
  durationSeconds,
  positiveIntegerField,
  tidySeconds,
  timestamp,
  toSeconds,
} from './codec/record-fields.js'
export {
  AUDIT_ACTIONS,
  type AuditAction,
  DAY_MS,
  DEAD_LETTER_STATUSES,
  type HealthStatus,
  HOUR_MS,
  MINUTE_MS,
  SEVERITIES,
} from './constants.js'
export {
  type DeadLetter,
  type DeadLetterStatus,
  deadLetterCodec,
  type deadLetterSchema,
  reviveDeadLetter,
} from './dead-letter.js'
export {
  type AuditRecord,
  auditCodec,
  type auditSchema,
  type ErrorRecord,
  errorRecordCodec,
  errorRecordSchema,
} from './errors.js'
export { EVENT_TYPE_INFO, EVENT_TYPES, type EventType } from './event-types.js'
export { randomString, SortedIds } from './ids.js'
export { copyForReader, deepCopy, freezeCopy, freezeInPlace, freezeWith } from './immutable.js'
export { auditText, breakerEventText, errorRecordText, eventText, sessionText } from './json-writers.js'
export {
  byMemberCodec,
  type byMemberSchema,
  byOperationCodec,
  type byOperationSchema,
  type MetricsByMember,
  type MetricsByOperation,
  type MetricsSeries,
  type MetricsSummary,
  type MetricsWindow,
  seriesCodec,
  type seriesSchema,
  summaryCodec,
  type summarySchema,
  windowCodec,
  type windowSchema,
} from './metrics.js'
export { convertDeadLetter } from './migrate/convert.js'
export {
  type MigratedRecords,
  type MigrateRecordsOptions,
  type MigrateRecordsReport,
  migrateRecords,
} from './migrate/migrate.js'
export { isOldRecord, OldRecordReader } from './migrate/reader.js'
export {
  ACTOR_CHECKS,
  abortSignal,
  anyBoolean,
  anyFunction,
  anyString,
  checkOptions,
  countOrInfinity,
  nonEmptyString,
  nonNegativeInteger,
  type OptionCheck,
  PAGE_CHECKS,
  positiveInteger,
  positiveNumber,
  validDate,
} from './option-checks.js'
export {
  backoffType,
  jitterType,
  nestedRetries,
  type PolicyFields,
  policyCodec,
  type policySchema,
  type RetryPolicy,
} from './policy.js'
export {
  type AnyPolicyField,
  POLICY_FIELDS,
  type PolicyField,
  type PolicyFieldKind,
  type PolicyPart,
} from './policy-fields.js'
export { errorMessageOf, errorStackOf, errorTypeOf, summarizeError } from './redact/error-summary.js'
export { patternProblem } from './redact/patterns.js'
export { makeRedactor, type Redact, type RedactOptions } from './redact/redact.js'
export {
  configVersionCodec,
  type configVersionSchema,
  deadLetterStatsCodec,
  type deadLetterStatsSchema,
  healthCodec,
  type healthSchema,
} from './responses.js'
export { RetentionClock } from './retention-clock.js'
export {
  attemptCodec,
  type attemptSchema,
  type ErrorSummary,
  eventCodec,
  type eventSchema,
  type RetryAttempt,
  type RetryEvent,
  type RetrySession,
  SCHEMA,
  sessionCodec,
  type sessionSchema,
} from './session.js'
export { STOP_REASON_INFO } from './stop-reasons.js'
export { editDistance, suggest } from './suggest.js'
export { ThrottledWarnings } from './throttled-warnings.js'

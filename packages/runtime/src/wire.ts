import {
  type Explanation,
  encodeExplanation,
  type explanationSchema,
  type LayerChange,
} from '@holdfast/config'
import {
  type AuditRecord,
  attemptCodec,
  type attemptSchema,
  auditCodec,
  type auditSchema,
  breakerCodec,
  breakerEventCodec,
  type breakerEventSchema,
  type breakerSchema,
  byMemberCodec,
  type byMemberSchema,
  byOperationCodec,
  type byOperationSchema,
  type CircuitBreakerEvent,
  type CircuitBreakerState,
  configVersionCodec,
  type configVersionSchema,
  type DeadLetter,
  deadLetterCodec,
  type deadLetterSchema,
  deadLetterStatsCodec,
  type deadLetterStatsSchema,
  type ErrorRecord,
  errorRecordCodec,
  type errorRecordSchema,
  eventCodec,
  type eventSchema,
  healthCodec,
  type healthSchema,
  type MetricsByMember,
  type MetricsByOperation,
  type MetricsSeries,
  type MetricsSummary,
  type MetricsWindow,
  policyCodec,
  type policySchema,
  type RetryAttempt,
  type RetryEvent,
  type RetryPolicy,
  type RetrySession,
  SCHEMA,
  seriesCodec,
  type seriesSchema,
  sessionCodec,
  type sessionSchema,
  summaryCodec,
  type summarySchema,
  windowCodec,
  type windowSchema,
} from '@holdfast/records'
import type { DeadLetterStats } from '@holdfast/store'
import { HoldfastError } from 'holdfast'
import type { z } from 'zod'
import type { Health } from './api-types.js'

/** The wire form of a record, of a list of records, or of a page of them. */
export type Wire<T> = T extends readonly (infer Item)[]
  ? Wire<Item>[]
  : T extends { items: readonly (infer Item)[] }
    ? { items: Wire<Item>[]; cursor?: string }
    : T extends RetrySession
      ? z.input<typeof sessionSchema>
      : T extends RetryEvent
        ? z.input<typeof eventSchema>
        : T extends RetryAttempt
          ? z.input<typeof attemptSchema>
          : T extends CircuitBreakerState
            ? z.input<typeof breakerSchema>
            : T extends CircuitBreakerEvent
              ? z.input<typeof breakerEventSchema>
              : T extends ErrorRecord
                ? z.input<typeof errorRecordSchema>
                : T extends DeadLetter
                  ? z.input<typeof deadLetterSchema>
                  : T extends AuditRecord
                    ? z.input<typeof auditSchema>
                    : T extends RetryPolicy
                      ? z.input<typeof policySchema>
                      : T extends MetricsSummary
                        ? z.input<typeof summarySchema>
                        : T extends MetricsSeries
                          ? z.input<typeof seriesSchema>
                          : T extends MetricsByMember
                            ? z.input<typeof byMemberSchema>
                            : T extends MetricsByOperation
                              ? z.input<typeof byOperationSchema>
                              : T extends MetricsWindow
                                ? z.input<typeof windowSchema>
                                : WireResponse<T>

/** The wire form of the runtime's other results. */
type WireResponse<T> = T extends Health
  ? z.input<typeof healthSchema>
  : T extends Explanation
    ? z.input<typeof explanationSchema>
    : T extends DeadLetterStats
      ? z.input<typeof deadLetterStatsSchema>
      : T extends LayerChange
        ? z.input<typeof configVersionSchema>
        : unknown

/** A resolved policy has no schema version, which its record needs. */
const encodePolicy = (policy: RetryPolicy) => ({ schema: SCHEMA, ...policyCodec.encode(policy) })

/** The encoder of each kind of record, found by fields that only this kind has. */
const RECORD_ENCODERS: readonly (readonly [
  name: string,
  fields: readonly string[],
  encode: (record: never) => unknown,
])[] = [
  ['session', ['sessionId', 'attempts', 'startTime'], sessionCodec.encode],
  ['event', ['eventId', 'eventType'], eventCodec.encode],
  ['attempt', ['attemptNumber', 'outcome'], attemptCodec.encode],
  ['dead letter', ['dlqId', 'operationType'], deadLetterCodec.encode],
  ['error record', ['severity', 'errorType'], errorRecordCodec.encode],
  ['audit record', ['auditId', 'action'], auditCodec.encode],
  ['change of a breaker', ['fromState', 'toState'], breakerEventCodec.encode],
  ['breaker', ['failureThreshold', 'lastStateChange'], breakerCodec.encode],
  ['policy', ['maxAttempts', 'backoffType'], encodePolicy],
  ['summary of metrics', ['totalRetries', 'successByAttempt'], summaryCodec.encode],
  ['series of metrics', ['dataPoints'], seriesCodec.encode],
  ['metrics by member', ['proxies'], byMemberCodec.encode],
  ['metrics by operation', ['timeWindowStart', 'operations'], byOperationCodec.encode],
  ['window of metrics', ['timeWindowStart', 'timeWindowEnd'], windowCodec.encode],
  ['health', ['policiesCount', 'activeSessions'], healthCodec.encode],
  ['explanation', ['operation', 'policies', 'notes'], encodeExplanation],
  ['statistics of dead letters', ['byStatus', 'byOperation'], deadLetterStatsCodec.encode],
  ['version of the config', ['version', 'by', 'at'], configVersionCodec.encode],
]

/**
 * Converts a record to its wire form: snake_case, seconds, ISO 8601. It also takes lists and `{ items, cursor }` pages of
 * records, and the results of `health`, `config.explain`, `config.history` and `deadLetters.stats`. User data (`context`,
 * payloads, results) is not changed. The kind of record is recognised by its fields.
 *
 * @throws INVALID_OPTIONS for anything else
 *
 * @example
 * ```ts
 * import { toWire } from '@holdfast/runtime'
 *
 * toWire({ totalRetries: 2, successByAttempt: { 1: 5 }, circuitBreakerEventsCount: 0, retentionHours: 24 })
 * // => { total_retries: 2, success_by_attempt: { 1: 5 }, circuit_breaker_events_count: 0, retention_hours: 24 }
 * toWire({ hello: 'world' }) // throws INVALID_OPTIONS
 * ```
 */
export function toWire<T>(record: T): Wire<T> {
  return encodeRecord(record) as Wire<T>
}

function encodeRecord(record: unknown): unknown {
  if (Array.isArray(record)) return record.map(encodeRecord)
  if (typeof record === 'object' && record !== null) {
    const { items, cursor } = record as { items?: unknown; cursor?: unknown }
    if (Array.isArray(items))
      return { items: items.map(encodeRecord), ...(cursor === undefined ? undefined : { cursor }) }
    for (const [, fields, encode] of RECORD_ENCODERS)
      if (fields.every((field) => field in record)) return encode(record as never)
  }
  throw new HoldfastError(
    'INVALID_OPTIONS',
    `toWire: expected one of these records with camelCase keys, an array or a { items, cursor } page of them: ${RECORD_ENCODERS.map(([name]) => name).join(', ')}; got ${formatValue(record)}`,
  )
}

const formatValue = (value: unknown) =>
  typeof value === 'object' && value !== null
    ? `an object with the fields ${Object.keys(value).slice(0, 8).join(', ') || '(none)'}`
    : value === null
      ? 'null'
      : `a value of type ${typeof value}`

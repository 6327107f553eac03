import { z } from 'zod'
import { type CamelCased, createCodec } from './codec/case-codec.js'
import {
  countOrInfinity,
  durationSeconds,
  nonNegativeIntegerField,
  openWord,
  positiveIntegerField,
  timestamp,
  userData,
  userObject,
} from './codec/record-fields.js'

/** The version of all records. */
export const SCHEMA = '1.2'

const schemaField = z.string().optional()

/** The summary of an error in records: redacted, and with its stack only in debug mode. */
export const errorSummarySchema = z.object({
  type: z.string(),
  message: z.string(),
  stack_trace: z.string().nullish(),
})
export type ErrorSummary = CamelCased<typeof errorSummarySchema>

/** How an attempt ended. */
export const OUTCOMES = ['success', 'failure', 'timeout', 'circuit_open'] as const

export const attemptSchema = z.object({
  schema: schemaField,
  attempt_number: positiveIntegerField(),
  timestamp: timestamp(),
  delay: durationSeconds(),
  success: z.boolean(),
  outcome: openWord(OUTCOMES),
  duration: durationSeconds(),
  status_code: z.int().nullish(),
  proxy_id: z.string().nullish(),
  error: errorSummarySchema.nullish(),
  context: userObject().nullish(),
})
/** One attempt of a recorded call. */
export type RetryAttempt = CamelCased<typeof attemptSchema>
export const attemptCodec = createCodec(attemptSchema)

/** Why a call ended. */
export const STOP_REASONS = [
  'succeeded',
  'not_retryable',
  'attempts_spent',
  'deadline',
  'budget_spent',
  'circuit_open',
  'pool_unavailable',
  'network_down',
  'bulkhead_full',
  'unwanted_value',
  'cancelled',
  'aborted',
] as const

export const stopReason = openWord(STOP_REASONS)

export const sessionSchema = z.object({
  schema: schemaField,
  session_id: z.string().min(1),
  policy_id: z.string(),
  policy_ids: z.array(z.string()),
  operation: z.string(),
  subsystem: z.string().nullish(),
  correlation_id: z.string().min(1),
  start_time: timestamp(),
  end_time: timestamp().nullish(),
  attempts: z.array(attemptSchema),
  final_result: userData().optional(),
  final_error: errorSummarySchema.nullish(),
  success: z.boolean(),
  stopped: stopReason.nullish(),
  context: userObject().nullish(),
  total_attempts: nonNegativeIntegerField(),
  total_duration: durationSeconds(),
  retry_count: nonNegativeIntegerField(),
  next_retry_time: timestamp().nullish(),
})
/** A call that failed at least once, with all its attempts. Active ones have no `endTime` and no `stopped`. */
export type RetrySession = CamelCased<typeof sessionSchema>
export const sessionCodec = createCodec(sessionSchema)

export const EVENT_TYPES = [
  'retry_attempt',
  'retry_success',
  'retry_failure',
  'circuit_breaker_opened',
  'circuit_breaker_closed',
  'circuit_breaker_half_opened',
  'dead_letter_enqueued',
  'dead_letter_replayed',
  'dead_letter_failed',
  'config_reloaded',
  'config_rejected',
  'pool_member_changed',
  'alert',
  'storage_warning',
  'events_dropped',
  'shared_state_lost',
  'shared_state_restored',
  'node_joined',
  'node_left',
] as const

export const eventSchema = z.object({
  schema: schemaField,
  event_id: z.string().min(1),
  event_type: openWord(EVENT_TYPES),
  timestamp: timestamp(),
  correlation_id: z.string().min(1),
  session_id: z.string().nullish(),
  policy_id: z.string().nullish(),
  operation: z.string().nullish(),
  attempt: positiveIntegerField().nullish(),
  max_attempts: countOrInfinity().nullish(),
  delay: durationSeconds().nullish(),
  error: errorSummarySchema.nullish(),
  component: openWord(['retry_manager', 'circuit_breaker', 'dead_letters', 'config', 'pool']),
  context: userObject().nullish(),
})
/** Something that happened. */
export type RetryEvent = CamelCased<typeof eventSchema>
export type EventType = (typeof EVENT_TYPES)[number]
export const eventCodec = createCodec(eventSchema)

import { z } from 'zod'
import { countless, facts, instant, opaque, openWord, ordinal, seconds, tally } from '../codec/leaf.js'
import { codec, type Twin } from '../codec/twin.js'

/** The version of all records. */
export const SCHEMA = '1.2'

const schema = z.string().optional()

/** An error as records hold it: redacted, and with its stack only where debugging asks for it. */
export const errorSummarySchema = z.object({
  type: z.string(),
  message: z.string(),
  stack_trace: z.string().nullish(),
})
export type ErrorSummary = Twin<typeof errorSummarySchema>

/** How an attempt ended. */
export const OUTCOMES = ['success', 'failure', 'timeout', 'circuit_open'] as const

export const attemptSchema = z.object({
  schema,
  attempt_number: ordinal(),
  timestamp: instant(),
  delay: seconds(),
  success: z.boolean(),
  outcome: openWord(OUTCOMES),
  duration: seconds(),
  status_code: z.int().nullish(),
  proxy_id: z.string().nullish(),
  error: errorSummarySchema.nullish(),
  context: facts().nullish(),
})
/** One attempt of a recorded call. */
export type RetryAttempt = Twin<typeof attemptSchema>
export const attemptCodec = codec(attemptSchema)

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
  schema,
  session_id: z.string().min(1),
  policy_id: z.string(),
  policy_ids: z.array(z.string()),
  operation: z.string(),
  subsystem: z.string().nullish(),
  correlation_id: z.string().min(1),
  start_time: instant(),
  end_time: instant().nullish(),
  attempts: z.array(attemptSchema),
  final_result: opaque().optional(),
  final_error: errorSummarySchema.nullish(),
  success: z.boolean(),
  stopped: stopReason.nullish(),
  context: facts().nullish(),
  total_attempts: tally(),
  total_duration: seconds(),
  retry_count: tally(),
  next_retry_time: instant().nullish(),
})
/** A call that failed at least once, with all its attempts. Active ones have no `endTime` and no `stopped`. */
export type RetrySession = Twin<typeof sessionSchema>
export const sessionCodec = codec(sessionSchema)

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
  schema,
  event_id: z.string().min(1),
  event_type: openWord(EVENT_TYPES),
  timestamp: instant(),
  correlation_id: z.string().min(1),
  session_id: z.string().nullish(),
  policy_id: z.string().nullish(),
  operation: z.string().nullish(),
  attempt: ordinal().nullish(),
  max_attempts: countless().nullish(),
  delay: seconds().nullish(),
  error: errorSummarySchema.nullish(),
  component: openWord(['retry_manager', 'circuit_breaker', 'dead_letters', 'config', 'pool']),
  context: facts().nullish(),
})
/** Something that happened. */
export type RetryEvent = Twin<typeof eventSchema>
export type EventType = (typeof EVENT_TYPES)[number]
export const eventCodec = codec(eventSchema)

import type { StopReason } from 'holdfast'
import { z } from 'zod'
import { type CamelCased, createCodec } from './codec/case-codec.js'
import { describeFields } from './codec/describe-fields.js'
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
import { EVENT_COMPONENTS, OUTCOMES } from './constants.js'
import { EVENT_TYPES } from './event-types.js'
import { STOP_REASONS } from './stop-reasons.js'

/** The version of all records. */
export const SCHEMA = '1.2'

const schemaField = () => z.string().optional()

/** The summary of an error in records: redacted, and with its stack only in debug mode. */
export const errorSummarySchema = describeFields(
  z.object({
    type: z.string(),
    message: z.string(),
    stack_trace: z.string().nullish(),
  }),
  {
    type: 'The name of the error class.',
    message: 'The message, without secrets.',
    stack_trace: 'The stack, only in debug mode.',
  },
)
/** The summary of an error in records: redacted, and with its stack only in debug mode. */
export type ErrorSummary = CamelCased<typeof errorSummarySchema>

/** The schema of an attempt, in the wire format. */
export const attemptSchema = describeFields(
  z.object({
    schema: schemaField(),
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
  }),
  {
    schema: 'The version of the record format.',
    attempt_number: 'The number of the attempt, 1 for the first.',
    timestamp: 'When the attempt started.',
    delay: 'The delay before the attempt in seconds.',
    success: 'Whether the attempt succeeded.',
    outcome: 'How the attempt ended.',
    duration: 'The duration of the attempt in seconds.',
    status_code: 'The HTTP status, if there is one.',
    proxy_id: 'The pool member of the attempt.',
    error: 'The error of a failed attempt.',
    context: 'The fields that the function added with `attempt.note`.',
  },
)
/** One attempt of a recorded call. */
export type RetryAttempt = CamelCased<typeof attemptSchema>
/** Converts an attempt between the wire format and TypeScript. */
export const attemptCodec = createCodec(attemptSchema)

/** What a caller can get instead of the result of an attempt. */
const SERVED = ['cache', 'stale', 'coalesced', 'fallback'] as const

/** The schema of a stop reason. It accepts other strings too, because a later version can add reasons. */
export const stopReason: z.ZodType<StopReason | (string & {}), StopReason | (string & {})> =
  openWord(STOP_REASONS)

/** The schema of a session, in the wire format. */
export const sessionSchema = describeFields(
  z.object({
    schema: schemaField(),
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
    served: openWord(SERVED).nullish(),
    context: userObject().nullish(),
    total_attempts: nonNegativeIntegerField(),
    total_duration: durationSeconds(),
    retry_count: nonNegativeIntegerField(),
    next_retry_time: timestamp().nullish(),
  }),
  {
    schema: 'The version of the record format.',
    session_id: 'The id of the session.',
    policy_id: 'The policy of the last decision.',
    policy_ids: 'All policies that applied, in order.',
    operation: 'The name of the call: the operation, if the call has no other name.',
    subsystem: 'The subsystem of the operation.',
    correlation_id: 'An id that related calls have in common.',
    start_time: 'When the call started.',
    end_time: 'When the call ended; absent while it runs.',
    attempts: 'The attempts in order.',
    final_result: 'The result, if `record_results` is set.',
    final_error: 'The error of the call.',
    success: 'Whether the call succeeded.',
    stopped: 'Why the call ended; absent while it runs.',
    served:
      'The source of the value that the caller got instead of the result of an attempt; absent if the caller got the result or the error.',
    context: 'The context that the caller passed.',
    total_attempts: 'The number of attempts.',
    total_duration: 'The duration of the call in seconds, including all delays.',
    retry_count: 'The number of retries.',
    next_retry_time: 'When the next attempt starts, while the call waits for it.',
  },
)
/** A call that failed at least once, with all its attempts. Active ones have no `endTime` and no `stopped`. */
export type RetrySession = CamelCased<typeof sessionSchema>
/** Converts a session between the wire format and TypeScript. */
export const sessionCodec = createCodec(sessionSchema)

/** The schema of an event, in the wire format. */
export const eventSchema = describeFields(
  z.object({
    schema: schemaField(),
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
    component: openWord(EVENT_COMPONENTS),
    context: userObject().nullish(),
  }),
  {
    schema: 'The version of the record format.',
    event_id: 'The id of the event. Ids sort by time.',
    event_type: 'The type of the event.',
    timestamp: 'When the event happened.',
    correlation_id: 'An id that related calls have in common.',
    session_id: 'The session of the call.',
    policy_id: 'The policy that applied.',
    operation: 'The name of the call.',
    attempt: 'The number of the attempt.',
    max_attempts: 'The maximum number of attempts.',
    delay: 'The delay before the attempt in seconds.',
    error: 'The error.',
    component: 'The part of Holdfast that emitted the event.',
    context: 'More fields, which depend on the type.',
  },
)
/** An event of the runtime. */
export type RetryEvent = CamelCased<typeof eventSchema>
/** Converts an event between the wire format and TypeScript. */
export const eventCodec = createCodec(eventSchema)

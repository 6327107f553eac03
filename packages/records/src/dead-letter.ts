import { z } from 'zod'
import { type CamelCased, createCodec, createReviver } from './codec/case-codec.js'
import { nonNegativeIntegerField, timestamp, userData } from './codec/record-fields.js'

export const DEAD_LETTER_STATUSES = ['pending', 'replaying', 'completed', 'failed'] as const

const failureSchema = z.object({
  error_type: z.string(),
  error_message: z.string(),
  stack_trace: z.string().nullish(),
  retry_count: nonNegativeIntegerField(),
  at: timestamp().optional(),
})

export const deadLetterSchema = z.object({
  schema: z.string().optional(),
  dlq_id: z.string().min(1),
  item_id: z.string().min(1),
  operation_type: z.string().min(1),
  status: z.enum(DEAD_LETTER_STATUSES),
  original_payload: userData(),
  error_details: failureSchema.extend({ history: z.array(failureSchema).optional() }),
  created_at: timestamp(),
  last_attempt: timestamp(),
  replayed_at: timestamp().nullish(),
  processed: z.boolean(),
  idempotency_key: z.string().min(1),
  policy_id: z.string(),
  session_id: z.string().nullish(),
  correlation_id: z.string().nullish(),
  leased_until: timestamp().nullish(),
  replay_requested_at: timestamp().nullish(),
})
/** A call that failed for good, stored with its payload until it is replayed. */
export type DeadLetter = CamelCased<typeof deadLetterSchema>
export type DeadLetterStatus = (typeof DEAD_LETTER_STATUSES)[number]
export const deadLetterCodec = createCodec(deadLetterSchema)

/**
 * Returns the record of a wire form that a store wrote, without validation, which would cost more than the rest of the read.
 * Times can be epoch milliseconds.
 */
export const reviveDeadLetter = createReviver(deadLetterSchema) as (wire: object) => DeadLetter

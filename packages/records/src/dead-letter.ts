import { z } from 'zod'
import { type CamelCased, createCodec, createReviver } from './codec/case-codec.js'
import { describeFields } from './codec/describe-fields.js'
import { nonNegativeIntegerField, timestamp, userData } from './codec/record-fields.js'
import { DEAD_LETTER_STATUSES } from './constants.js'

const failureSchema = z.object({
  error_type: z.string(),
  error_message: z.string(),
  stack_trace: z.string().nullish(),
  retry_count: nonNegativeIntegerField(),
  at: timestamp().optional(),
})

/** The schema of a dead letter, in the wire format. */
export const deadLetterSchema = describeFields(
  z.object({
    schema: z.string().optional(),
    dlq_id: z.string().min(1),
    item_id: z.string().min(1),
    operation_type: z.string().min(1),
    status: z.enum(DEAD_LETTER_STATUSES),
    original_payload: userData(),
    edited_payload: userData().optional(),
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
  }),
  {
    schema: 'The version of the record format.',
    dlq_id: 'The id of the dead letter.',
    item_id: 'The item that the call was about.',
    operation_type: 'The operation that failed. Its handler replays the dead letter.',
    status: 'The status of the dead letter.',
    original_payload:
      'The payload of the failed call; encrypted in the store if `dead_letters.encryption_key` is set.',
    edited_payload:
      'The payload that an operator replaced it with. Replays use it. Absent or null: not edited.',
    error_details: 'The error of the call. `history` has those of failed replays, the newest 100.',
    created_at: 'When the dead letter was stored.',
    last_attempt: 'When the call or its last replay was attempted.',
    replayed_at: 'When the last replay ended.',
    processed: 'Whether the dead letter is completed.',
    idempotency_key: 'Passed to the handler, the same for every replay.',
    policy_id: 'The policy that applied.',
    session_id: 'The session of the failed call.',
    correlation_id: 'The correlation id of the failed call.',
    leased_until: 'When the lease of a running replay ends.',
    replay_requested_at: 'When a replay was requested.',
  },
)
/** A call that failed after all retries, stored with its payload until it is replayed. */
export type DeadLetter = CamelCased<typeof deadLetterSchema>
/** The status of a dead letter. */
export type DeadLetterStatus = (typeof DEAD_LETTER_STATUSES)[number]
/** Converts a dead letter between the wire format and TypeScript. */
export const deadLetterCodec = createCodec(deadLetterSchema)

/**
 * Returns the record of a wire form that a store wrote, without validation, which would cost more than the rest of the read.
 * Times can be epoch milliseconds.
 */
export const reviveDeadLetter = createReviver(deadLetterSchema) as (wire: object) => DeadLetter

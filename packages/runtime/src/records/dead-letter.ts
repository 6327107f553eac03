import { z } from 'zod'
import { instant, opaque, tally } from '../codec/leaf.js'
import { codec, reviver, type Twin } from '../codec/twin.js'

export const DEAD_LETTER_STATUSES = ['pending', 'replaying', 'completed', 'failed'] as const

const failure = z.object({
  error_type: z.string(),
  error_message: z.string(),
  stack_trace: z.string().nullish(),
  retry_count: tally(),
  at: instant().optional(),
})

export const deadLetterSchema = z.object({
  schema: z.string().optional(),
  dlq_id: z.string().min(1),
  item_id: z.string().min(1),
  operation_type: z.string().min(1),
  status: z.enum(DEAD_LETTER_STATUSES),
  original_payload: opaque(),
  error_details: failure.extend({ history: z.array(failure).optional() }),
  created_at: instant(),
  last_attempt: instant(),
  replayed_at: instant().nullish(),
  processed: z.boolean(),
  idempotency_key: z.string().min(1),
  policy_id: z.string(),
  session_id: z.string().nullish(),
  correlation_id: z.string().nullish(),
  leased_until: instant().nullish(),
  replay_requested_at: instant().nullish(),
})
/** A call that could not be saved, kept with its payload until it is replayed. */
export type DeadLetter = Twin<typeof deadLetterSchema>
export type DeadLetterStatus = (typeof DEAD_LETTER_STATUSES)[number]
export const deadLetterCodec = codec(deadLetterSchema)

/**
 * The record of a wire form that a store of ours wrote, unchecked: checking costs more than all the rest of reading it. Times
 * may be epoch milliseconds.
 */
export const reviveDeadLetter = reviver(deadLetterSchema) as (wire: object) => DeadLetter

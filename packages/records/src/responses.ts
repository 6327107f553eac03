import { z } from 'zod'
import { createCodec } from './codec/case-codec.js'
import { nonNegativeIntegerField, positiveIntegerField, timestamp } from './codec/record-fields.js'
import { DEAD_LETTER_STATUSES } from './dead-letter.js'

/** The health of a runtime. */
export const healthSchema = z.object({
  status: z.enum(['ok', 'degraded', 'closed']),
  initialized: z.boolean(),
  policies_count: nonNegativeIntegerField(),
  active_sessions: nonNegativeIntegerField(),
  circuit_breakers: z.object({
    total: nonNegativeIntegerField(),
    open: nonNegativeIntegerField(),
    half_open: nonNegativeIntegerField(),
  }),
})
export const healthCodec = createCodec(healthSchema)

/** One version of the live changes. */
export const configVersionSchema = z.object({
  version: positiveIntegerField(),
  by: z.string(),
  reason: z.string().optional(),
  at: timestamp(),
})
export const configVersionCodec = createCodec(configVersionSchema)

const statusCounts = z.record(z.enum(DEAD_LETTER_STATUSES), nonNegativeIntegerField())

/** The number of dead letters by status and operation. */
export const deadLetterStatsSchema = z.object({
  total: nonNegativeIntegerField(),
  by_status: statusCounts,
  by_operation: z.record(z.string(), statusCounts),
  oldest: timestamp().optional(),
})
export const deadLetterStatsCodec = createCodec(deadLetterStatsSchema)

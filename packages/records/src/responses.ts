import { z } from 'zod'
import { createCodec } from './codec/case-codec.js'
import { describeFields } from './codec/describe-fields.js'
import { nonNegativeIntegerField, positiveIntegerField, timestamp } from './codec/record-fields.js'
import { DEAD_LETTER_STATUSES, HEALTH_STATUSES } from './constants.js'

/** The health of a runtime. */
export const healthSchema = describeFields(
  z.object({
    status: z.enum(HEALTH_STATUSES),
    initialized: z.boolean(),
    policies_count: nonNegativeIntegerField(),
    active_sessions: nonNegativeIntegerField(),
    circuit_breakers: z.object({
      total: nonNegativeIntegerField(),
      open: nonNegativeIntegerField(),
      half_open: nonNegativeIntegerField(),
    }),
  }),
  {
    status:
      '`ok`; `degraded` if the built-in policies replace the config file or the store has unreadable records; `closed` after the runtime was closed.',
    initialized: 'Whether the runtime is open.',
    policies_count: 'The number of policies.',
    active_sessions: 'The number of running calls.',
    circuit_breakers: 'The number of breakers, and of those that are open or half open.',
  },
)
/** Converts a health response between the wire format and TypeScript. */
export const healthCodec = createCodec(healthSchema)

/** One version of the live changes. */
export const configVersionSchema = z.object({
  version: positiveIntegerField(),
  by: z.string(),
  reason: z.string().optional(),
  at: timestamp(),
})
/** Converts a version of the live changes between the wire format and TypeScript. */
export const configVersionCodec = createCodec(configVersionSchema)

const statusCounts = z.record(z.enum(DEAD_LETTER_STATUSES), nonNegativeIntegerField())

/** The number of dead letters by status and operation. */
export const deadLetterStatsSchema = z.object({
  total: nonNegativeIntegerField(),
  by_status: statusCounts,
  by_operation: z.record(z.string(), statusCounts),
  oldest: timestamp().optional(),
})
/** Converts the counts of dead letters between the wire format and TypeScript. */
export const deadLetterStatsCodec = createCodec(deadLetterStatsSchema)

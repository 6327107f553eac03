import { z } from 'zod'
import { createCodec, snakeKey } from '../codec/case-codec.js'
import {
  durationSeconds,
  nonNegativeIntegerField,
  positiveIntegerField,
  timestamp,
} from '../codec/record-fields.js'
import type { Explanation } from '../config/explain.js'
import { DEAD_LETTER_STATUSES } from './dead-letter.js'
import { policyCodec, type RetryPolicy } from './policy.js'

/** How a runtime is. */
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

/** One version of the changes made through the API. */
export const configVersionSchema = z.object({
  version: positiveIntegerField(),
  by: z.string(),
  reason: z.string().optional(),
  at: timestamp(),
})
export const configVersionCodec = createCodec(configVersionSchema)

const statusCounts = z.record(z.enum(DEAD_LETTER_STATUSES), nonNegativeIntegerField())

/** How many dead letters there are. */
export const deadLetterStatsSchema = z.object({
  total: nonNegativeIntegerField(),
  by_status: statusCounts,
  by_operation: z.record(z.string(), statusCounts),
  oldest: timestamp().optional(),
})
export const deadLetterStatsCodec = createCodec(deadLetterStatsSchema)

const waitFields = { base: durationSeconds(), min: durationSeconds(), max: durationSeconds() }

/** How an operation is guarded, and why. */
export const explanationSchema = z.object({
  operation: z.string(),
  subsystem: z.string().optional(),
  enabled: z.boolean(),
  policies: z.array(
    z.object({
      kind: z.string(),
      policy_id: z.string(),
      enabled: z.boolean(),
      /** Keyed by the fields of a policy, whose values they are. */
      values: z.record(
        z.string(),
        z.object({ value: z.unknown(), origin: z.string(), where: z.string().optional() }),
      ),
      schedule: z.object({
        waits: z.array(z.object({ attempt: positiveIntegerField(), ...waitFields })),
        total: z.object(waitFields),
        more: z.boolean(),
      }),
      breaker: z.string().optional(),
    }),
  ),
  notes: z.array(z.string()),
})
const explanationCodec = createCodec(explanationSchema)

/** The wire form of an explanation. Its values are those of a policy, so a policy's codec has to bring them over. */
export function encodeExplanation(explanation: Explanation): z.input<typeof explanationSchema> {
  const wire = explanationCodec.encode(explanation as never)
  for (const policy of wire.policies) {
    const entries = Object.entries(policy.values)
    const fields = Object.fromEntries(entries.map(([field, { value }]) => [field, value]))
    const values = policyCodec.encode(fields as unknown as RetryPolicy) as Record<string, unknown>
    policy.values = Object.fromEntries(
      entries.map(([field, value]) => [snakeKey(field), { ...value, value: values[snakeKey(field)] }]),
    )
  }
  return wire
}

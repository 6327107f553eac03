import { z } from 'zod'
import { instant, ordinal, seconds, tally } from '../codec/leaf.js'
import { codec, snakeKey } from '../codec/twin.js'
import type { Explanation } from '../config/explain.js'
import { DEAD_LETTER_STATUSES } from './dead-letter.js'
import { policyCodec, type RetryPolicy } from './policy.js'

/** How a runtime is. */
export const healthSchema = z.object({
  status: z.enum(['ok', 'degraded', 'closed']),
  initialized: z.boolean(),
  policies_count: tally(),
  active_sessions: tally(),
  circuit_breakers: z.object({ total: tally(), open: tally(), half_open: tally() }),
})
export const healthCodec = codec(healthSchema)

/** One version of the changes made through the API. */
export const configVersionSchema = z.object({
  version: ordinal(),
  by: z.string(),
  reason: z.string().optional(),
  at: instant(),
})
export const configVersionCodec = codec(configVersionSchema)

const counts = z.record(z.enum(DEAD_LETTER_STATUSES), tally())

/** How many dead letters there are. */
export const deadLetterStatsSchema = z.object({
  total: tally(),
  by_status: counts,
  by_operation: z.record(z.string(), counts),
  oldest: instant().optional(),
})
export const deadLetterStatsCodec = codec(deadLetterStatsSchema)

const wait = { base: seconds(), min: seconds(), max: seconds() }

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
        waits: z.array(z.object({ attempt: ordinal(), ...wait })),
        total: z.object(wait),
        more: z.boolean(),
      }),
      breaker: z.string().optional(),
    }),
  ),
  notes: z.array(z.string()),
})
const explanationCodec = codec(explanationSchema)

/** The wire form of an explanation. Its values are those of a policy, so a policy's codec has to bring them over. */
export function encodeExplanation(explanation: Explanation): z.input<typeof explanationSchema> {
  const wire = explanationCodec.encode(explanation as never)
  for (const policy of wire.policies) {
    const entries = Object.entries(policy.values)
    const fields = Object.fromEntries(entries.map(([field, { value }]) => [field, value]))
    const values = policyCodec.encode(fields as unknown as RetryPolicy) as Record<string, unknown>
    policy.values = Object.fromEntries(
      entries.map(([field, held]) => [snakeKey(field), { ...held, value: values[snakeKey(field)] }]),
    )
  }
  return wire
}

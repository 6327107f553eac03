import {
  createCodec,
  durationSeconds,
  policyCodec,
  positiveIntegerField,
  type RetryPolicy,
  snakeKey,
} from '@holdfast/records'
import { z } from 'zod'
import type { Explanation } from './explain.js'

const waitFields = { base: durationSeconds(), min: durationSeconds(), max: durationSeconds() }

/** How an operation is protected, and why. */
export const explanationSchema = z.object({
  operation: z.string().describe('The name of the operation.'),
  subsystem: z.string().optional().describe('The subsystem of the operation.'),
  enabled: z.boolean().describe('False if the operation is disabled.'),
  policies: z
    .array(
      z.object({
        kind: z.string(),
        policy_id: z.string(),
        enabled: z.boolean(),
        values: z
          .record(
            z.string(),
            z.object({ value: z.unknown(), origin: z.string(), where: z.string().optional() }),
          )
          .describe('The values by policy field.'),
        schedule: z.object({
          waits: z.array(z.object({ attempt: positiveIntegerField(), ...waitFields })),
          total: z.object(waitFields),
          more: z.boolean(),
        }),
        breaker: z.string().optional(),
      }),
    )
    .describe('The policy for each kind of failure, with the origin of each value and the resulting delays.'),
  notes: z
    .array(z.string())
    .describe('Names that the configuration does not know, and values that have no effect.'),
})
const explanationCodec = createCodec(explanationSchema)

/** The wire form of an explanation. The policy codec converts the values, because they are policy fields. */
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

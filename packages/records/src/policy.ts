import { z } from 'zod'
import { type CamelCased, createCodec } from './codec/case-codec.js'
import {
  countOrInfinity,
  durationSeconds,
  nonNegativeIntegerField,
  positiveIntegerField,
} from './codec/record-fields.js'

/** How delays grow from one retry to the next. */
export const backoffType = z.enum(['exponential', 'linear', 'fixed', 'immediate', 'fibonacci'])

/** How delays are randomized. */
export const jitterType = z.enum(['none', 'full', 'equal', 'decorrelated', 'proportional', 'additive'])

/** A policy with all fields, in the spelling of the wire. */
export const policySchema = z.object({
  schema: z.string().optional().describe('The version of the record format.'),
  id: z.string().min(1).describe('The id of the policy.'),
  name: z.string(),
  description: z.string().nullish(),
  enabled: z.boolean(),
  max_attempts: countOrInfinity(),
  backoff_type: backoffType,
  base_delay: durationSeconds(),
  multiplier: z.number().min(1),
  max_delay: durationSeconds(),
  jitter_type: jitterType,
  jitter_amount: z.number().min(0).max(1),
  jitter_min: durationSeconds(),
  jitter_max: durationSeconds(),
  retryable_exceptions: z.array(z.string()).nullish(),
  abort_exceptions: z.array(z.string()).nullish(),
  retry_status_codes: z.array(z.int()).nullish(),
  respect_retry_after: z.boolean(),
  max_retry_after: durationSeconds(),
  attempt_timeout: durationSeconds().nullish(),
  total_timeout: durationSeconds().nullish(),
  retry_non_idempotent: z.boolean(),
  enable_circuit_breaker: z.boolean(),
  circuit_breaker_threshold: positiveIntegerField(),
  circuit_breaker_timeout: durationSeconds(),
  circuit_breaker: z.string().nullish(),
  bulkhead: z.object({ limit: positiveIntegerField(), queue: nonNegativeIntegerField() }).nullish(),
  hedge: z.object({ delay: durationSeconds(), max: positiveIntegerField() }).nullish(),
  budget: z
    .object({
      ratio: z.number().min(0),
      reserve_per_second: z.number().min(0),
      window: durationSeconds(),
      shared: z.boolean().optional(),
    })
    .nullish(),
  dead_letter: z.boolean(),
  shadow: z.boolean(),
})

/** A retry policy with all fields; durations are in milliseconds. */
export type RetryPolicy = CamelCased<typeof policySchema>

/** Some fields of a policy. An undefined field counts as absent. */
export type PolicyFields = { [Field in keyof RetryPolicy]?: RetryPolicy[Field] | undefined }

/** Converts a policy between the wire format and TypeScript. */
export const policyCodec = createCodec(policySchema)

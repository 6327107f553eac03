import { z } from 'zod'
import { countless, ordinal, seconds, tally } from '../codec/leaf.js'
import { codec, type Twin } from '../codec/twin.js'

/** How waits grow. */
export const backoffType = z.enum(['exponential', 'linear', 'fixed', 'immediate', 'fibonacci'])

/** How chance spreads waits. */
export const jitterType = z.enum(['none', 'full', 'equal', 'decorrelated', 'proportional', 'additive'])

/** A policy with every field as the wire spells it. */
export const policySchema = z.object({
  schema: z.string().optional(),
  id: z.string().min(1),
  name: z.string(),
  description: z.string().nullish(),
  enabled: z.boolean(),
  max_attempts: countless(),
  backoff_type: backoffType,
  base_delay: seconds(),
  multiplier: z.number().min(1),
  max_delay: seconds(),
  jitter_type: jitterType,
  jitter_amount: z.number().min(0).max(1),
  jitter_min: seconds(),
  jitter_max: seconds(),
  retryable_exceptions: z.array(z.string()).nullish(),
  abort_exceptions: z.array(z.string()).nullish(),
  retry_status_codes: z.array(z.int()).nullish(),
  respect_retry_after: z.boolean(),
  max_retry_after: seconds(),
  attempt_timeout: seconds().nullish(),
  total_timeout: seconds().nullish(),
  retry_non_idempotent: z.boolean(),
  enable_circuit_breaker: z.boolean(),
  circuit_breaker_threshold: ordinal(),
  circuit_breaker_timeout: seconds(),
  circuit_breaker: z.string().nullish(),
  bulkhead: z.object({ limit: ordinal(), queue: tally() }).nullish(),
  hedge: z.object({ delay: seconds(), max: ordinal() }).nullish(),
  budget: z
    .object({
      ratio: z.number().min(0),
      reserve_per_second: z.number().min(0),
      window: seconds(),
      shared: z.boolean().optional(),
    })
    .nullish(),
  dead_letter: z.boolean(),
  shadow: z.boolean(),
})

/** A retry policy with every value filled in: durations in milliseconds. */
export type RetryPolicy = Twin<typeof policySchema>

/** Some fields of a policy; one that is undefined is not given. */
export type PolicyFields = { [Field in keyof RetryPolicy]?: RetryPolicy[Field] | undefined }

export const policyCodec = codec(policySchema)

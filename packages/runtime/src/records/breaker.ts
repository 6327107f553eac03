import { z } from 'zod'
import { instant, ordinal, seconds, tally } from '../codec/leaf.js'
import { codec, type Twin } from '../codec/twin.js'

const state = z.enum(['closed', 'open', 'half_open'])

/** The member of a pool; null for the breaker of a policy or a service, whose id does not begin with `pool:`. */
const proxyId = z.string().nullable()

export const breakerSchema = z.object({
  schema: z.string().optional(),
  id: z.string().min(1),
  proxy_id: proxyId,
  policy_id: z.string().nullish(),
  service_name: z.string().nullish(),
  state,
  failure_count: tally(),
  success_count: tally(),
  failure_threshold: ordinal(),
  success_threshold: ordinal(),
  window_type: z.enum(['rolling', 'consecutive', 'rate']),
  window_duration: seconds().nullish(),
  timeout_duration: seconds(),
  next_test_time: instant().nullish(),
  last_failure_time: instant().nullish(),
  open_timestamp: instant().nullish(),
  last_state_change: instant(),
})
/** Where a circuit breaker stands. `proxyId` is the pool's member, null for every other breaker. */
export type CircuitBreakerState = Twin<typeof breakerSchema>
export const breakerCodec = codec(breakerSchema)

export const breakerEventSchema = z.object({
  id: z.string(),
  proxy_id: proxyId,
  from_state: state,
  to_state: state,
  timestamp: instant(),
  failure_count: tally(),
})
/** A change of a breaker's state. */
export type CircuitBreakerEvent = Twin<typeof breakerEventSchema>
export const breakerEventCodec = codec(breakerEventSchema)

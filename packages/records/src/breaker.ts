import { z } from 'zod'
import { type CamelCased, createCodec } from './codec/case-codec.js'
import {
  durationSeconds,
  nonNegativeIntegerField,
  positiveIntegerField,
  timestamp,
} from './codec/record-fields.js'

const breakerState = z.enum(['closed', 'open', 'half_open'])

/** The pool member of the breaker; null for the breaker of a policy or service, whose id does not begin with `pool:`. */
const proxyId = z.string().nullable()

export const breakerSchema = z.object({
  schema: z.string().optional(),
  id: z.string().min(1),
  proxy_id: proxyId,
  policy_id: z.string().nullish(),
  service_name: z.string().nullish(),
  state: breakerState,
  failure_count: nonNegativeIntegerField(),
  success_count: nonNegativeIntegerField(),
  failure_threshold: positiveIntegerField(),
  success_threshold: positiveIntegerField(),
  window_type: z.enum(['rolling', 'consecutive', 'rate']),
  window_duration: durationSeconds().nullish(),
  timeout_duration: durationSeconds(),
  next_test_time: timestamp().nullish(),
  last_failure_time: timestamp().nullish(),
  open_timestamp: timestamp().nullish(),
  last_state_change: timestamp(),
})
/** The state of a circuit breaker. `proxyId` is the pool member, null for every other breaker. */
export type CircuitBreakerState = CamelCased<typeof breakerSchema>
export const breakerCodec = createCodec(breakerSchema)

export const breakerEventSchema = z.object({
  id: z.string(),
  proxy_id: proxyId,
  from_state: breakerState,
  to_state: breakerState,
  timestamp: timestamp(),
  failure_count: nonNegativeIntegerField(),
})
/** A change of a breaker's state. */
export type CircuitBreakerEvent = CamelCased<typeof breakerEventSchema>
export const breakerEventCodec = createCodec(breakerEventSchema)

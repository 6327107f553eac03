import { BREAKER_STATES, WINDOW_TYPES } from 'holdfast/internal'
import { z } from 'zod'
import { type CamelCased, createCodec } from './codec/case-codec.js'
import { describeFields } from './codec/describe-fields.js'
import {
  durationSeconds,
  nonNegativeIntegerField,
  positiveIntegerField,
  timestamp,
} from './codec/record-fields.js'

const breakerState = () => z.enum(BREAKER_STATES)

/** The pool member of the breaker; null for the breaker of a policy or service, whose id does not begin with `pool:`. */
const proxyId = () => z.string().nullable()

/** The schema of the state of a circuit breaker, in the wire format. */
export const breakerSchema = describeFields(
  z.object({
    schema: z.string().optional(),
    id: z.string().min(1),
    proxy_id: proxyId(),
    policy_id: z.string().nullish(),
    service_name: z.string().nullish(),
    state: breakerState(),
    failure_count: nonNegativeIntegerField(),
    success_count: nonNegativeIntegerField(),
    failure_threshold: positiveIntegerField(),
    success_threshold: positiveIntegerField(),
    window_type: z.enum(WINDOW_TYPES),
    window_duration: durationSeconds().nullish(),
    timeout_duration: durationSeconds(),
    trip_duration: durationSeconds().nullish(),
    next_test_time: timestamp().nullish(),
    last_failure_time: timestamp().nullish(),
    open_timestamp: timestamp().nullish(),
    last_state_change: timestamp(),
  }),
  {
    schema: 'The version of the record format.',
    id: 'The id of the breaker: `policy:ID`, `service:NAME` or `pool:POOL:MEMBER`.',
    proxy_id: 'The pool member of the breaker; null for the breaker of a policy or service.',
    policy_id: 'The policy of the breaker.',
    service_name: 'The service of the breaker.',
    state: 'The state of the breaker.',
    failure_count: 'The number of failures in the window, or of those that opened the breaker.',
    success_count: 'The number of successful probes while half open.',
    failure_threshold: 'The number of failures that opens the breaker.',
    success_threshold: 'The number of successful probes that closes the breaker.',
    window_type: 'How failures are counted.',
    window_duration: 'The length of a rolling or rate window in seconds.',
    timeout_duration: 'How long the breaker stays open before the first probe, in seconds.',
    trip_duration:
      'For how long an operator tripped the breaker; absent if failures opened it or its open duration applies.',
    next_test_time: 'When an open breaker allows the next probe.',
    last_failure_time: 'When the last counted failure happened.',
    open_timestamp: 'When the breaker opened.',
    last_state_change: 'When the state last changed.',
  },
)
/** The state of a circuit breaker. `proxyId` is the pool member, null for every other breaker. */
export type CircuitBreakerState = CamelCased<typeof breakerSchema>
/** Converts the state of a circuit breaker between the wire format and TypeScript. */
export const breakerCodec = createCodec(breakerSchema)

/** The schema of a state change of a breaker, in the wire format. */
export const breakerEventSchema = describeFields(
  z.object({
    id: z.string(),
    proxy_id: proxyId(),
    from_state: breakerState(),
    to_state: breakerState(),
    timestamp: timestamp(),
    failure_count: nonNegativeIntegerField(),
  }),
  {
    id: 'The id of the breaker: `policy:ID`, `service:NAME` or `pool:POOL:MEMBER`.',
    proxy_id: 'The pool member of the breaker; null for the breaker of a policy or service.',
    from_state: 'The previous state.',
    to_state: 'The new state.',
    timestamp: 'When the state changed.',
    failure_count: 'The number of failures in the window, or of those that opened the breaker.',
  },
)
/** A change of a breaker's state. */
export type CircuitBreakerEvent = CamelCased<typeof breakerEventSchema>
/** Converts a state change of a breaker between the wire format and TypeScript. */
export const breakerEventCodec = createCodec(breakerEventSchema)

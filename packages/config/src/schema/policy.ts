import { backoffType, jitterType } from '@holdfast/records'
import { z } from 'zod'
import {
  anyString,
  atLeastOne,
  attemptCount,
  booleanValue,
  duration,
  enumOf,
  fraction,
  listOf,
  matcherName,
  nonEmptyString,
  nonNegativeInteger,
  nonNegativeNumber,
  nullableKey,
  optionalKey,
  positiveDuration,
  positiveInteger,
  requiredKey,
  retryableStatus,
  timeoutDuration,
} from './fields.js'

/** Every field of a policy except its id. All are optional, because layers supply absent values. */
const policyFields = {
  name: optionalKey(anyString(), 'A display name. Default: the id.'),
  description: nullableKey(anyString(), 'When and why to use it.'),
  enabled: optionalKey(
    booleanValue(),
    'False disables the policy: calls run once, without retries. Default true.',
  ),
  max_attempts: optionalKey(
    attemptCount(),
    'The maximum number of attempts, including the first. Default 3.',
  ),
  backoff_type: optionalKey(
    enumOf(backoffType),
    'How the delay grows from one retry to the next. Default exponential.',
  ),
  base_delay: optionalKey(duration(), 'The delay before the first retry. Default 1 second.'),
  multiplier: optionalKey(atLeastOne(), 'The factor of exponential growth. Default 2.'),
  max_delay: optionalKey(duration(), 'The maximum delay, including jitter. Default 30 seconds.'),
  jitter_type: optionalKey(enumOf(jitterType), 'How delays are randomized. Default none.'),
  jitter_amount: optionalKey(fraction(), 'The fraction of the delay that is random. Default 0.1.'),
  jitter_min: optionalKey(duration(), 'The minimum that additive jitter adds. Default 0.'),
  jitter_max: optionalKey(duration(), 'The maximum that additive jitter adds. Default 0.'),
  retryable_exceptions: nullableKey(
    listOf(matcherName()),
    'Errors that are retried. Default: transient errors. An empty list: none.',
  ),
  abort_exceptions: nullableKey(
    listOf(matcherName()),
    'Errors that are never retried. Takes precedence over all other settings.',
  ),
  retry_status_codes: nullableKey(listOf(retryableStatus()), 'HTTP statuses that are retried.'),
  respect_retry_after: optionalKey(
    booleanValue(),
    'Whether the Retry-After of a response replaces the delay. Default true.',
  ),
  max_retry_after: optionalKey(
    positiveDuration(),
    'A longer Retry-After ends the call without a retry. Default 60 seconds.',
  ),
  attempt_timeout: nullableKey(timeoutDuration(), 'The deadline of one attempt. Default: none.'),
  total_timeout: nullableKey(
    timeoutDuration(),
    'The deadline of the whole call, including delays. Default: none.',
  ),
  retry_non_idempotent: optionalKey(booleanValue(), 'Whether POST and PATCH are retried. Default false.'),
  enable_circuit_breaker: optionalKey(
    booleanValue(),
    'Creates a circuit breaker for this policy. Default false.',
  ),
  circuit_breaker_threshold: optionalKey(
    positiveInteger(),
    'The number of consecutive failures that open the breaker of this policy. Default 5.',
  ),
  circuit_breaker_timeout: optionalKey(
    positiveDuration(),
    'How long the breaker of this policy stays open. Default 60 seconds.',
  ),
  circuit_breaker: nullableKey(
    nonEmptyString(),
    'The name of a breaker under circuit_breakers. It replaces the breaker of this policy.',
  ),
  bulkhead: nullableKey(
    z.strictObject({
      limit: requiredKey(positiveInteger(), 'The maximum number of concurrent calls.'),
      queue: optionalKey(nonNegativeInteger(), 'The maximum number of queued calls. Default 0.'),
    }),
    'Limits concurrent calls.',
  ),
  hedge: nullableKey(
    z.strictObject({
      delay: requiredKey(duration(), 'The time after which another run of the attempt starts.'),
      max: optionalKey(positiveInteger(), 'The maximum number of additional runs. Default 1.'),
    }),
    'Starts another run of an attempt that takes long, and uses the first result.',
  ),
  budget: nullableKey(
    z.strictObject({
      ratio: optionalKey(nonNegativeNumber(), 'Retries allowed per call in the window. Default 0.2.'),
      reserve_per_second: optionalKey(
        nonNegativeNumber(),
        'Retries allowed per second independent of the number of calls. Default 10.',
      ),
      window: optionalKey(
        positiveDuration(),
        'The time span in which calls and retries are counted. Default 10 seconds.',
      ),
      shared: optionalKey(
        booleanValue(),
        'Counts the calls of all nodes of the fleet. Requires `shared`. Default false.',
      ),
    }),
    'Limits the total number of retries.',
  ),
  dead_letter: optionalKey(
    booleanValue(),
    'Whether a call with a payload that failed after all retries is stored as a dead letter. Default true.',
  ),
  shadow: optionalKey(
    booleanValue(),
    'Records what the policy would do, without applying it. Default false.',
  ),
}

/** The defaults of all policies: any field except name and description. */
const { name: _, description: __, ...defaultFields } = policyFields
export const defaultsSchema = z.strictObject(defaultFields)

/** A policy in the config file. */
export const policyEntrySchema = z.strictObject({
  id: optionalKey(nonEmptyString(), 'The id, equal to its key. Optional.'),
  ...policyFields,
})

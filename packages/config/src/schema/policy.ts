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
  name: optionalKey(anyString(), 'What people call it. Its id where this is left out.'),
  description: nullableKey(anyString(), 'When and why to use it.'),
  enabled: optionalKey(booleanValue(), 'False lets calls straight through, without retries. Default true.'),
  max_attempts: optionalKey(
    attemptCount(),
    'How many attempts there are in all, the first included. Default 3.',
  ),
  backoff_type: optionalKey(
    enumOf(backoffType),
    'How the wait grows from one retry to the next. Default exponential.',
  ),
  base_delay: optionalKey(duration(), 'The wait before the first retry. Default 1 second.'),
  multiplier: optionalKey(atLeastOne(), 'The factor of exponential growth. Default 2.'),
  max_delay: optionalKey(duration(), 'No wait is longer, jitter included. Default 30 seconds.'),
  jitter_type: optionalKey(enumOf(jitterType), 'How chance spreads the waits. Default none.'),
  jitter_amount: optionalKey(fraction(), 'The share of the wait that chance decides. Default 0.1.'),
  jitter_min: optionalKey(duration(), 'The least that additive jitter adds. Default 0.'),
  jitter_max: optionalKey(duration(), 'The most that additive jitter adds. Default 0.'),
  retryable_exceptions: nullableKey(
    listOf(matcherName()),
    'Errors to retry. Left out: those that are transient. Empty: none.',
  ),
  abort_exceptions: nullableKey(listOf(matcherName()), 'Errors never to retry; wins over everything else.'),
  retry_status_codes: nullableKey(listOf(retryableStatus()), 'HTTP statuses to retry.'),
  respect_retry_after: optionalKey(
    booleanValue(),
    "Whether a server's Retry-After replaces the wait. Default true.",
  ),
  max_retry_after: optionalKey(
    positiveDuration(),
    'A Retry-After beyond this stops the call instead. Default 60 seconds.',
  ),
  attempt_timeout: nullableKey(timeoutDuration(), 'How long one attempt may take. Default: no limit.'),
  total_timeout: nullableKey(
    timeoutDuration(),
    'How long the call may take, waits included. Default: no limit.',
  ),
  retry_non_idempotent: optionalKey(booleanValue(), 'Whether POST and PATCH are retried. Default false.'),
  enable_circuit_breaker: optionalKey(
    booleanValue(),
    'Gives the policy a breaker of its own. Default false.',
  ),
  circuit_breaker_threshold: optionalKey(
    positiveInteger(),
    'Failures in a row that open its own breaker. Default 5.',
  ),
  circuit_breaker_timeout: optionalKey(
    positiveDuration(),
    'How long its own breaker stays open. Default 60 seconds.',
  ),
  circuit_breaker: nullableKey(nonEmptyString(), 'A breaker under circuit_breakers, in place of its own.'),
  bulkhead: nullableKey(
    z.strictObject({
      limit: requiredKey(positiveInteger(), 'How many calls may run at a time.'),
      queue: optionalKey(nonNegativeInteger(), 'How many may wait for one to end. Default 0.'),
    }),
    'How many calls may run at a time.',
  ),
  hedge: nullableKey(
    z.strictObject({
      delay: requiredKey(duration(), 'How long an attempt may be silent before another joins it.'),
      max: optionalKey(positiveInteger(), 'How many may join. Default 1.'),
    }),
    'A second call beside one that is slow.',
  ),
  budget: nullableKey(
    z.strictObject({
      ratio: optionalKey(nonNegativeNumber(), 'Retries allowed per call in the window. Default 0.2.'),
      reserve_per_second: optionalKey(
        nonNegativeNumber(),
        'Retries allowed per second whatever the calls. Default 10.',
      ),
      window: optionalKey(
        positiveDuration(),
        'How far back calls and retries are counted. Default 10 seconds.',
      ),
      shared: optionalKey(booleanValue(), 'Counts the whole fleet, where `shared` is set. Default false.'),
    }),
    'How much retrying there may be in all.',
  ),
  dead_letter: optionalKey(
    booleanValue(),
    'Whether a call that failed for good is kept with its payload. Default true.',
  ),
  shadow: optionalKey(booleanValue(), 'Only reports what it would have done. Default false.'),
}

/** The defaults of all policies: any field except name and description. */
const { name: _, description: __, ...defaultFields } = policyFields
export const defaultsSchema = z.strictObject(defaultFields)

/** A policy in the config file. */
export const policyEntrySchema = z.strictObject({
  id: optionalKey(nonEmptyString(), 'The same as its key; may be left out.'),
  ...policyFields,
})

import { z } from 'zod'
import { backoffType, jitterType } from '../../records/policy.js'
import {
  amount,
  attempts,
  count,
  described,
  duration,
  enumOf,
  factor,
  flag,
  key,
  list,
  matcher,
  maybe,
  natural,
  retryableStatus,
  share,
  span,
  text,
  timeout,
  word,
} from './leaf.js'

/** Every field of a policy but its id; layers fill in what is left out. */
const fields = {
  name: key(text(), 'What people call it. Its id where this is left out.'),
  description: maybe(text(), 'When and why to use it.'),
  enabled: key(flag(), 'False lets calls straight through, without retries. Default true.'),
  max_attempts: key(attempts(), 'How many attempts there are in all, the first included. Default 3.'),
  backoff_type: key(
    enumOf(backoffType),
    'How the wait grows from one retry to the next. Default exponential.',
  ),
  base_delay: key(duration(), 'The wait before the first retry. Default 1 second.'),
  multiplier: key(factor(), 'The factor of exponential growth. Default 2.'),
  max_delay: key(duration(), 'No wait is longer, jitter included. Default 30 seconds.'),
  jitter_type: key(enumOf(jitterType), 'How chance spreads the waits. Default none.'),
  jitter_amount: key(share(), 'The share of the wait that chance decides. Default 0.1.'),
  jitter_min: key(duration(), 'The least that additive jitter adds. Default 0.'),
  jitter_max: key(duration(), 'The most that additive jitter adds. Default 0.'),
  retryable_exceptions: maybe(
    list(matcher()),
    'Errors to retry. Left out: those that are transient. Empty: none.',
  ),
  abort_exceptions: maybe(list(matcher()), 'Errors never to retry; wins over everything else.'),
  retry_status_codes: maybe(list(retryableStatus()), 'HTTP statuses to retry.'),
  respect_retry_after: key(flag(), "Whether a server's Retry-After replaces the wait. Default true."),
  max_retry_after: key(span(), 'A Retry-After beyond this stops the call instead. Default 60 seconds.'),
  attempt_timeout: maybe(timeout(), 'How long one attempt may take. Default: no limit.'),
  total_timeout: maybe(timeout(), 'How long the call may take, waits included. Default: no limit.'),
  retry_non_idempotent: key(flag(), 'Whether POST and PATCH are retried. Default false.'),
  enable_circuit_breaker: key(flag(), 'Gives the policy a breaker of its own. Default false.'),
  circuit_breaker_threshold: key(count(), 'Failures in a row that open its own breaker. Default 5.'),
  circuit_breaker_timeout: key(span(), 'How long its own breaker stays open. Default 60 seconds.'),
  circuit_breaker: maybe(word(), 'A breaker under circuit_breakers, in place of its own.'),
  bulkhead: maybe(
    z.strictObject({
      limit: described(count(), 'How many calls may run at a time.'),
      queue: key(natural(), 'How many may wait for one to end. Default 0.'),
    }),
    'How many calls may run at a time.',
  ),
  hedge: maybe(
    z.strictObject({
      delay: described(duration(), 'How long an attempt may be silent before another joins it.'),
      max: key(count(), 'How many may join. Default 1.'),
    }),
    'A second call beside one that is slow.',
  ),
  budget: maybe(
    z.strictObject({
      ratio: key(amount(), 'Retries allowed per call in the window. Default 0.2.'),
      reserve_per_second: key(amount(), 'Retries allowed per second whatever the calls. Default 10.'),
      window: key(span(), 'How far back calls and retries are counted. Default 10 seconds.'),
      shared: key(flag(), 'Counts the whole fleet, where `shared` is set. Default false.'),
    }),
    'How much retrying there may be in all.',
  ),
  dead_letter: key(flag(), 'Whether a call that failed for good is kept with its payload. Default true.'),
  shadow: key(flag(), 'Only reports what it would have done. Default false.'),
}

/** The defaults of every policy: any field but those that name it. */
const { name: _, description: __, ...shared } = fields
export const defaultsSchema = z.strictObject(shared)

/** A policy as a file holds it. */
export const policyEntrySchema = z.strictObject({
  id: key(word(), 'The same as its key; may be left out.'),
  ...fields,
})

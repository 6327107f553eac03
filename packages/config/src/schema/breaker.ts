import type { SnakeCase } from '@holdfast/records'
import type { BreakerOptions } from 'holdfast'
import { BREAKER_DEFAULTS, WINDOW_TYPES } from 'holdfast/internal'
import { z } from 'zod'
import { CONFIG_DEFAULTS } from '../defaults.js'
import {
  absentKey,
  atLeastOne,
  booleanValue,
  oneOf,
  optionalKey,
  positiveDuration,
  positiveFraction,
  positiveInteger,
} from './fields.js'

/** The breaker options of the core that a file can have; a file has no functions. */
type CoreKeys = {
  readonly [Name in Exclude<keyof BreakerOptions, 'failureOn'> as SnakeCase<Name>]-?: z.ZodType
}

/** A named breaker, or the breaker of a pool's members. */
export const breakerEntrySchema = z.strictObject({
  failure_threshold: optionalKey(
    positiveInteger(),
    'The number of failures in the window that opens the breaker.',
    BREAKER_DEFAULTS.failureThreshold,
  ),
  success_threshold: optionalKey(
    positiveInteger(),
    'The number of successful probes that closes the breaker.',
    BREAKER_DEFAULTS.successThreshold,
  ),
  window_type: optionalKey(
    oneOf(...WINDOW_TYPES),
    'How failures are counted while the breaker is closed.',
    BREAKER_DEFAULTS.windowType,
  ),
  window_duration: optionalKey(
    positiveDuration(),
    'The length of a rolling or rate window.',
    BREAKER_DEFAULTS.windowDuration,
  ),
  timeout_duration: optionalKey(
    positiveDuration(),
    'How long the breaker stays open before it allows a probe.',
    BREAKER_DEFAULTS.timeoutDuration,
  ),
  timeout_multiplier: optionalKey(
    atLeastOne(),
    'The factor by which the open duration grows with each consecutive opening.',
    BREAKER_DEFAULTS.timeoutMultiplier,
  ),
  max_timeout_duration: optionalKey(
    positiveDuration(),
    'The maximum open duration; at least timeout_duration.',
    BREAKER_DEFAULTS.maxTimeoutDuration,
  ),
  failure_rate: absentKey(
    positiveFraction(),
    'The fraction of failed calls that opens the breaker. Implies window_type rate.',
    '0.5 if window_type is rate and slow_call_rate is absent, otherwise none',
  ),
  minimum_calls: optionalKey(
    positiveInteger(),
    'The minimum number of calls in a rate window before the breaker can open. With share: quorum, also the number of recent calls that a node needs for a vote.',
    `${BREAKER_DEFAULTS.minimumCalls}; ${CONFIG_DEFAULTS.share.minimumCalls} for a vote`,
  ),
  slow_call_duration: absentKey(
    positiveDuration(),
    'A call that takes at least this long is slow. Requires slow_call_rate.',
    'none, no call is slow',
  ),
  slow_call_rate: absentKey(
    positiveFraction(),
    'The fraction of slow calls that opens the breaker. Implies window_type rate. Requires slow_call_duration.',
    'none',
  ),
  half_open_max: optionalKey(
    positiveInteger(),
    'The maximum number of concurrent probes.',
    BREAKER_DEFAULTS.halfOpenMax,
  ),
  probe_lease: absentKey(
    positiveDuration(),
    'How long a probe may take before another call can become the probe.',
    'the attempt timeout of the call; without one, timeout_duration',
  ),
  adaptive: optionalKey(
    booleanValue(),
    'Lowers the threshold for a target that failed often in its last 200 calls.',
    BREAKER_DEFAULTS.adaptive,
  ),
  persist_state: optionalKey(booleanValue(), 'Restores the state of the breaker after a restart.', false),
  share: absentKey(
    oneOf('none', 'state', 'counts', 'quorum'),
    'The information about the breaker that the nodes of a fleet share.',
    `${CONFIG_DEFAULTS.share.share} if \`shared\` is set, otherwise none`,
  ),
  quorum: optionalKey(
    positiveFraction(),
    'The fraction of nodes that must agree before the breaker opens in the fleet.',
    CONFIG_DEFAULTS.share.quorum,
  ),
} satisfies CoreKeys & { readonly [name: string]: z.ZodType })

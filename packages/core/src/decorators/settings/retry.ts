import type { Matcher } from '../../classify/index.js'
import type { Duration } from '../../duration.js'
import {
  anyOf,
  nonNegativeDuration,
  nonNegativeInteger,
  type OptionRule,
  type OptionSpecOf,
  ofType,
} from '../../options.js'
import { matcherList, type RetryOptions } from '../../retry/options.js'

/** When a failed method is retried: the settings and defaults of MicroProfile. */
export interface RetrySettings {
  /** The maximum number of retries after the first attempt; -1 and Infinity: no limit. @defaultValue 3 */
  maxRetries?: number | undefined
  /** The delay before the first retry; it doubles with each further one. @defaultValue 0 */
  delay?: Duration | undefined
  /** The maximum delay, including jitter. @defaultValue no limit except `maxDuration` */
  maxDelay?: Duration | undefined
  /** The time limit of the whole call; 0 and Infinity: no limit. @defaultValue 180000 */
  maxDuration?: Duration | undefined
  /** The maximum random time that is added to a delay. @defaultValue 200 */
  jitter?: Duration | undefined
  /** Errors that are retried. Absent: those classified as transient. Empty: none. */
  retryOn?: readonly Matcher[] | undefined
  /** Errors that are never retried; takes precedence over `retryOn`. */
  abortOn?: readonly Matcher[] | undefined
  /** The name of the method in events, errors and sessions. @defaultValue `Class.method` */
  name?: string | undefined
}

const unlimited: OptionRule = ['-1 for no limit', (value: unknown) => value === -1 || value === Infinity]

export const RETRY_SETTINGS_SPEC = {
  maxRetries: [3, anyOf(nonNegativeInteger, unlimited)],
  delay: [0, nonNegativeDuration],
  maxDelay: [Number.POSITIVE_INFINITY, nonNegativeDuration],
  maxDuration: [180_000, nonNegativeDuration],
  jitter: [200, nonNegativeDuration],
  retryOn: [undefined, matcherList],
  abortOn: [undefined, matcherList],
  name: [undefined, ofType('string')],
} satisfies OptionSpecOf<RetrySettings>

/** Converts {@link RetrySettings} with defaults to retry options of a guard. */
export function toRetryOptions(settings: RetrySettings): RetryOptions {
  const { maxRetries = 0, delay: baseDelay = 0, maxDelay = 0, jitter = 0, retryOn, abortOn } = settings
  return {
    maxAttempts: maxRetries < 0 ? Number.POSITIVE_INFINITY : maxRetries + 1,
    backoffType: 'exponential',
    baseDelay,
    multiplier: 2,
    maxDelay,
    jitterType: 'additive',
    jitterMin: 0,
    jitterMax: jitter,
    ...(retryOn && { retryOn }),
    ...(abortOn && { abortOn }),
  }
}

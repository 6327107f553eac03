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

/** When a method that failed is tried again: MicroProfile's words and defaults. */
export interface RetrySettings {
  /** How many tries may follow the first; -1 and Infinity: without end. @defaultValue 3 */
  maxRetries?: number | undefined
  /** The wait before the first retry; each later one is twice as long. @defaultValue 0 */
  delay?: Duration | undefined
  /** No wait is longer, jitter included. @defaultValue none but `maxDuration` */
  maxDelay?: Duration | undefined
  /** How long the call may take in all; 0 and Infinity: as long as it likes. @defaultValue 180000 */
  maxDuration?: Duration | undefined
  /** The most that chance adds to a wait. @defaultValue 200 */
  jitter?: Duration | undefined
  /** Errors to retry. Absent: those classified as transient. Empty: none. */
  retryOn?: readonly Matcher[] | undefined
  /** Errors never to retry; wins over `retryOn`. */
  abortOn?: readonly Matcher[] | undefined
  /** What the method is called in events, errors and sessions. @defaultValue `Class.method` */
  name?: string | undefined
}

const unlimited: OptionRule = ['-1 for no end', (value: unknown) => value === -1 || value === Infinity]

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

/** {@link RetrySettings} filled in, as the engine's retry options. */
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

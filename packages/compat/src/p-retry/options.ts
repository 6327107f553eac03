/** The failed attempt, as `onFailedAttempt` and `shouldRetry` get it. */
export type RetryContext = {
  readonly error: Error
  /** The number of the attempt that failed, 1 for the first. */
  readonly attemptNumber: number
  readonly retriesLeft: number
}

/** Options of p-retry. */
export type Options = {
  /** Called and awaited after each failed attempt, including the last. If it throws, the call rejects with that error. */
  readonly onFailedAttempt?: ((context: RetryContext) => void | Promise<void>) | undefined
  /**
   * Whether to retry. Not called when `retries` or `maxRetryTime` is used up, nor for an {@link AbortError} or a TypeError that
   * is not a network error.
   */
  readonly shouldRetry?: ((context: RetryContext) => boolean | Promise<boolean>) | undefined
  /** The maximum number of retries after the first attempt. @defaultValue 10 */
  readonly retries?: number | undefined
  /** The factor by which delays grow. @defaultValue 2 */
  readonly factor?: number | undefined
  /** The delay before the first retry, in milliseconds. @defaultValue 1000 */
  readonly minTimeout?: number | undefined
  /** The longest delay, in milliseconds. @defaultValue Infinity */
  readonly maxTimeout?: number | undefined
  /** Whether each delay is multiplied by a random number from 1 to 2. @defaultValue false */
  readonly randomize?: boolean | undefined
  /** The time in milliseconds after which no retry starts. @defaultValue Infinity */
  readonly maxRetryTime?: number | undefined
  /** Ends the retries when aborted, with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Whether a delay does not keep the process alive. @defaultValue false */
  readonly unref?: boolean | undefined
}

/** {@link Options}, checked and with defaults. */
export interface Settings extends Pick<Options, 'signal' | 'unref'> {
  readonly onFailedAttempt: (context: RetryContext) => void | Promise<void>
  readonly shouldRetry: (context: RetryContext) => boolean | Promise<boolean>
  readonly retries: number
  readonly factor: number
  readonly minTimeout: number
  readonly maxTimeout: number
  readonly randomize: boolean
  readonly maxRetryTime: number
}

/** Checks the options, with the messages of p-retry. @throws TypeError for a number that is not valid */
export function parseOptions(options: Options): Settings {
  checkRetries(options.retries)
  if (Object.hasOwn(options, 'forever'))
    throw new Error(
      'The `forever` option is no longer supported. For many use-cases, you can set `retries: Infinity` instead.',
    )
  const factor = checkNumber('factor', options.factor ?? 2, 'finite')
  return {
    retries: options.retries ?? 10,
    factor: factor > 0 ? factor : 1,
    minTimeout: checkNumber('minTimeout', options.minTimeout ?? 1000, 'finite'),
    maxTimeout: checkNumber('maxTimeout', options.maxTimeout ?? Number.POSITIVE_INFINITY),
    maxRetryTime: checkNumber('maxRetryTime', options.maxRetryTime ?? Number.POSITIVE_INFINITY),
    randomize: options.randomize ?? false,
    onFailedAttempt: options.onFailedAttempt ?? (() => {}),
    shouldRetry: options.shouldRetry ?? (() => true),
    signal: options.signal,
    unref: options.unref,
  }
}

function checkRetries(retries: unknown): void {
  if (retries === undefined) return
  if (typeof retries !== 'number') throw new TypeError('Expected `retries` to be a number or Infinity.')
  if (retries < 0) throw new TypeError('Expected `retries` to be a non-negative number.')
  if (Number.isNaN(retries))
    throw new TypeError('Expected `retries` to be a valid number or Infinity, got NaN.')
}

function checkNumber(name: string, value: unknown, range: 'finite' | 'infinite' = 'infinite'): number {
  if (typeof value !== 'number' || Number.isNaN(value))
    throw new TypeError(`Expected \`${name}\` to be a number${range === 'infinite' ? ' or Infinity' : ''}.`)
  if (range === 'finite' && !Number.isFinite(value))
    throw new TypeError(`Expected \`${name}\` to be a finite number.`)
  if (value < 0) throw new TypeError(`Expected \`${name}\` to be \u2265 0.`)
  return value
}

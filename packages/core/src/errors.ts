/** Every code a {@link HoldfastError} can carry. A retired code is never used again. */
export type HoldfastErrorCode =
  | 'CIRCUIT_OPEN'
  | 'ATTEMPT_TIMEOUT'
  | 'TOTAL_TIMEOUT'
  | 'POOL_UNAVAILABLE'
  | 'NETWORK_DOWN'
  | 'BULKHEAD_FULL'
  | 'RETRY_BUDGET_EXHAUSTED'
  | 'CANCELLED'
  | 'INVALID_OPTIONS'
  | 'CONFIG_INVALID'
  | 'POLICY_NOT_FOUND'
  | 'POLICY_IN_USE'
  | 'DEAD_LETTER_NOT_FOUND'
  | 'DEAD_LETTER_LEASED'
  | 'DEAD_LETTERS_FULL'
  | 'PAYLOAD_TOO_LARGE'
  | 'IDEMPOTENCY_CONFLICT'
  | 'STORE_UNAVAILABLE'
  | 'COMMIT_UNKNOWN'

/** What a {@link HoldfastError} may carry besides its code and message. */
export interface HoldfastErrorOptions {
  /** The error behind this one. */
  cause?: unknown
  /** Milliseconds after which another try makes sense. */
  retryAfter?: number | undefined
  /** The HTTP status this error would be answered with. */
  status?: number | undefined
  /** Each thing that is wrong, where there are several. */
  details?: readonly string[] | undefined
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

const BRAND = Symbol.for('holdfast.error')

/**
 * The one class of errors that Holdfast makes itself; `code` tells them apart and is stable. When retries end, the
 * error of the last attempt is thrown instead, as it came.
 *
 * @example
 * ```ts
 * import { HoldfastError } from 'holdfast'
 *
 * const error = new HoldfastError('CANCELLED', 'the operator stopped it', { retryAfter: 500 })
 * error.code // => 'CANCELLED'
 * error.retryAfter // => 500
 * ```
 */
export class HoldfastError<C extends HoldfastErrorCode = HoldfastErrorCode> extends Error {
  /** Which of the errors this is. */
  readonly code: C
  /** Milliseconds after which another try makes sense, where that is known. */
  declare readonly retryAfter?: number
  /** The HTTP status this error would be answered with, where there is one. */
  declare readonly status?: number
  /** Each thing that is wrong, one sentence a problem, where there are several. */
  declare readonly details?: readonly string[]

  constructor(code: C, message: string, options?: HoldfastErrorOptions) {
    super(message, options !== undefined && 'cause' in options ? { cause: options.cause } : undefined)
    this.code = code
    if (options?.retryAfter !== undefined) this.retryAfter = options.retryAfter
    if (options?.status !== undefined) this.status = options.status
    if (options?.details !== undefined) this.details = options.details
  }
}

Object.defineProperties(HoldfastError.prototype, {
  name: { value: 'HoldfastError', configurable: true, writable: true },
  [BRAND]: { value: true },
})

/**
 * Whether an error is one of Holdfast's, and of that code where one is given, which its type then has. It also knows errors of another copy of
 * the package, for which `instanceof` says no.
 *
 * @example
 * ```ts
 * import { HoldfastError, isHoldfastError } from 'holdfast'
 *
 * isHoldfastError(new HoldfastError('CIRCUIT_OPEN', 'resting'), 'CIRCUIT_OPEN') // => true
 * isHoldfastError(new Error('boom')) // => false
 * ```
 */
export function isHoldfastError<C extends HoldfastErrorCode = HoldfastErrorCode>(
  error: unknown,
  code?: C,
): error is HoldfastError<C> {
  if (!isObject(error)) return false
  try {
    return BRAND in error && (code === undefined || (error as { code?: unknown }).code === code)
  } catch {
    return false // a Proxy that throws
  }
}

/**
 * A refusal: an error of its own for each caller, but without the cost of a stack trace, because nothing went wrong at
 * the place that asked.
 */
export function createCheapError(
  code: HoldfastErrorCode,
  message: string,
  options: HoldfastErrorOptions,
): HoldfastError {
  const limit = stackTraceConfig.stackTraceLimit
  setStackTraceLimit(0)
  const error = new HoldfastError(code, message, options)
  setStackTraceLimit(limit)
  return error
}

/** V8 and its kin know how many frames to keep; elsewhere this is an unused property. */
const stackTraceConfig = Error as { stackTraceLimit?: number | undefined }

function setStackTraceLimit(limit: number | undefined): void {
  try {
    stackTraceConfig.stackTraceLimit = limit
  } catch {
    // Frozen intrinsics: the error then has its stack.
  }
}

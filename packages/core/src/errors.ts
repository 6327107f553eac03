import { isErrorLike } from './classify/classification.js'

/** Every code of a {@link HoldfastError}. A removed code is never used again. */
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

/** Fields of a {@link HoldfastError} in addition to its code and message. */
export interface HoldfastErrorOptions {
  /** The error that caused this one. */
  cause?: unknown
  /** Milliseconds after which a retry makes sense. */
  retryAfter?: number | undefined
  /** The HTTP status of a response that reports this error. */
  status?: number | undefined
  /** One sentence for each problem, if there can be several. */
  details?: readonly string[] | undefined
}

const BRAND = Symbol.for('holdfast.error')

/**
 * Makes `instanceof HoldfastError` true for errors of another copy of the package, such as its CommonJS form. It is a class of
 * its own, because V8 creates instances of a class slowly if that class itself has such a member.
 */
class CrossCopyError extends Error {
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (!isMarked) markPrototype()
    return Object.hasOwn(this.prototype, BRAND) ? isHoldfastError(value) : super[Symbol.hasInstance](value)
  }
}

/**
 * The class of all errors that Holdfast creates; `code` distinguishes them and is stable. When retries end, the error of
 * the last attempt is thrown unchanged instead.
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
export class HoldfastError<C extends HoldfastErrorCode = HoldfastErrorCode> extends CrossCopyError {
  /** Identifies the error. */
  readonly code: C
  /** Milliseconds after which a retry makes sense, if that is known. */
  declare readonly retryAfter?: number
  /** The HTTP status of a response that reports this error, if there is one. */
  declare readonly status?: number
  /** One sentence for each problem, if there can be several. */
  declare readonly details?: readonly string[]

  constructor(code: C, message: string, options?: HoldfastErrorOptions) {
    if (!isMarked) markPrototype()
    super(message, options !== undefined && 'cause' in options ? { cause: options.cause } : undefined)
    this.code = code
    if (options?.retryAfter !== undefined) this.retryAfter = options.retryAfter
    if (options?.status !== undefined) this.status = options.status
    if (options?.details !== undefined) this.details = options.details
  }
}

let isMarked = false

/** Adds the name and the mark to the class. The first use does so, because a bundler keeps every effect of loading a module. */
function markPrototype(): void {
  isMarked = true
  Object.defineProperties(HoldfastError.prototype, {
    name: { value: 'HoldfastError', configurable: true, writable: true },
    [BRAND]: { value: true },
  })
}

/**
 * Whether an error is a {@link HoldfastError}, with that code if one is given. It also recognises errors of another copy of
 * the package.
 *
 * @example
 * ```ts
 * import { HoldfastError, isHoldfastError } from 'holdfast'
 *
 * isHoldfastError(new HoldfastError('CIRCUIT_OPEN', 'the breaker is open'), 'CIRCUIT_OPEN') // => true
 * isHoldfastError(new Error('boom')) // => false
 * ```
 */
export function isHoldfastError<C extends HoldfastErrorCode = HoldfastErrorCode>(
  error: unknown,
  code?: C,
): error is HoldfastError<C> {
  try {
    return isErrorLike(error) && BRAND in error && (code === undefined || error.code === code)
  } catch {
    return false // a Proxy that throws
  }
}

/**
 * Creates an error without a stack trace, for rejections: a new error for each caller, without the cost of a trace that would
 * only show the caller.
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

/** V8 and JavaScriptCore limit the frames of a stack trace by this property; elsewhere it is unused. */
const stackTraceConfig = Error as { stackTraceLimit?: number | undefined }

function setStackTraceLimit(limit: number | undefined): void {
  try {
    stackTraceConfig.stackTraceLimit = limit
  } catch {
    // With frozen intrinsics the limit cannot be set, and the error has a stack trace.
  }
}

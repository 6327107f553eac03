import type { ErrorCode } from './error-codes.js'

/** An error response: its code, message, details and additional headers. */
export class ApiError extends Error {
  readonly code: ErrorCode
  readonly details: readonly unknown[] | undefined
  readonly headers: Record<string, string>

  constructor(
    code: ErrorCode,
    message: string,
    options: { details?: readonly unknown[]; headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.code = code
    this.details = options.details
    this.headers = options.headers ?? {}
  }
}

/** A header with the seconds to wait, rounded up so that a client does not retry too early. */
export const retryAfterHeader = (ms: number): Record<string, string> => ({
  'retry-after': String(Math.max(0, Math.ceil(ms / 1000))),
})

import type { HoldfastErrorCode } from 'holdfast'

/** The codes of the server itself, besides those of `HoldfastError`. */
type ServerErrorCode =
  | 'BAD_REQUEST'
  | 'UNAUTHORIZED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'PRECONDITION_FAILED'
  | 'RATE_LIMITED'
  | 'INTERNAL'
  | 'UPSTREAM_FAILED'

/** A code that a response can carry. It is stable; the message beside it is for people. */
export type ErrorCode = HoldfastErrorCode | ServerErrorCode

/** The HTTP status of each code. A code that is missing here does not compile. */
export const HTTP_STATUS_BY_CODE = {
  BAD_REQUEST: 400,
  INVALID_OPTIONS: 400,
  CONFIG_INVALID: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  POLICY_NOT_FOUND: 404,
  DEAD_LETTER_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  DEAD_LETTER_LEASED: 409,
  IDEMPOTENCY_CONFLICT: 409,
  POLICY_IN_USE: 409,
  PRECONDITION_FAILED: 412,
  PAYLOAD_TOO_LARGE: 413,
  RATE_LIMITED: 429,
  INTERNAL: 500,
  UPSTREAM_FAILED: 502,
  BULKHEAD_FULL: 503,
  CANCELLED: 503,
  CIRCUIT_OPEN: 503,
  COMMIT_UNKNOWN: 503,
  DEAD_LETTERS_FULL: 503,
  NETWORK_DOWN: 503,
  POOL_UNAVAILABLE: 503,
  RETRY_BUDGET_EXHAUSTED: 503,
  STORE_UNAVAILABLE: 503,
  ATTEMPT_TIMEOUT: 504,
  TOTAL_TIMEOUT: 504,
} as const satisfies Record<ErrorCode, number>

/** A status of {@link HTTP_STATUS_BY_CODE}. */
export type ErrorStatus = (typeof HTTP_STATUS_BY_CODE)[ErrorCode]

/** Every code, in the order of its status. */
export const ERROR_CODES = Object.keys(HTTP_STATUS_BY_CODE) as [ErrorCode, ...ErrorCode[]]

/** What each status of an error means, for OpenAPI. */
export const STATUS_DESCRIPTIONS: Readonly<Record<ErrorStatus, string>> = {
  400: 'The request is not valid; `details` has a path and a message for each problem.',
  401: 'A token is required, and the request has none or an unknown one.',
  403: 'The caller is not allowed to do this.',
  404: 'Not found.',
  405: 'The path does not support this method.',
  409: 'The request conflicts with the current state.',
  412: 'The resource has changed since its ETag was read.',
  413: 'The body is too large.',
  429: 'Too many requests; Retry-After gives the time to wait.',
  500: 'Unexpected error; the log of the server has it under the request id.',
  502: 'The target of the request failed.',
  503: 'Not possible at the moment; Retry-After gives the time to wait, where it is known.',
  504: 'The operation timed out.',
}

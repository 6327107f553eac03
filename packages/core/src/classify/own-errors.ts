import type { HoldfastErrorCode } from '../errors.js'
import { type Classification, createClassification, PERMANENT_UNKNOWN, TIMEOUT } from './classification.js'
import { byCode } from './error-codes.js'

const CONFLICT = createClassification('permanent', 'conflict')
const NOT_FOUND = createClassification('permanent', 'not_found')
const VALIDATION = createClassification('permanent', 'validation')

/** What a code of a `HoldfastError` means. */
type OwnError = readonly [
  classification: Classification,
  /** The HTTP status of a response that reports the error. */
  httpStatus: number,
  /**
   * What a guard, breaker, pool, bulkhead or budget rejects with the error: every call of the operation, this call before
   * its first attempt, or the rest of the call.
   */
  rejects?: 'operation' | 'call' | 'rest',
]

/** The meaning of each code. A code that is missing here does not compile. */
export const OWN_ERRORS = {
  CIRCUIT_OPEN: [PERMANENT_UNKNOWN, 503, 'operation'],
  ATTEMPT_TIMEOUT: [TIMEOUT, 504],
  TOTAL_TIMEOUT: [TIMEOUT, 504],
  POOL_UNAVAILABLE: [PERMANENT_UNKNOWN, 503, 'operation'],
  NETWORK_DOWN: [createClassification('permanent', 'network_error'), 503, 'operation'],
  BULKHEAD_FULL: [PERMANENT_UNKNOWN, 503, 'call'],
  RETRY_BUDGET_EXHAUSTED: [PERMANENT_UNKNOWN, 503, 'rest'],
  // Not the classification of an abort, whose cause can be a timeout.
  CANCELLED: [createClassification('permanent', 'cancelled'), 503, 'rest'],
  INVALID_OPTIONS: [VALIDATION, 400],
  CONFIG_INVALID: [VALIDATION, 400],
  POLICY_NOT_FOUND: [NOT_FOUND, 404],
  POLICY_IN_USE: [CONFLICT, 409],
  DEAD_LETTER_NOT_FOUND: [NOT_FOUND, 404],
  DEAD_LETTER_LEASED: [CONFLICT, 409],
  DEAD_LETTERS_FULL: [PERMANENT_UNKNOWN, 503],
  PAYLOAD_TOO_LARGE: [VALIDATION, 413],
  IDEMPOTENCY_CONFLICT: [CONFLICT, 409],
  STORE_UNAVAILABLE: [createClassification('transient', 'server_error'), 503],
  COMMIT_UNKNOWN: [PERMANENT_UNKNOWN, 503],
} as const satisfies { readonly [code in HoldfastErrorCode]: OwnError }

/** The meaning of a code. An error of a later version of the package can have a code that is not known here. */
export const ownErrorOf = (code: string): OwnError | undefined =>
  Object.hasOwn(OWN_ERRORS, code) ? OWN_ERRORS[code as HoldfastErrorCode] : undefined

/** Classifies a code of a `HoldfastError`. */
export const byOwnCode = (code: string): Classification =>
  ownErrorOf(code)?.[0] ?? byCode(code) ?? PERMANENT_UNKNOWN

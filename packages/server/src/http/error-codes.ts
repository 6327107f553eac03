import type { HoldfastErrorCode } from 'holdfast'
import { OWN_ERRORS } from 'holdfast/internal'

/** The HTTP status of a code, when it occurs, and how to react. */
interface ErrorCodeInfo {
  readonly status: number
  readonly meaning: string
  readonly action: string
}

/** The codes of the server itself, which only responses have. */
export const SERVER_ERRORS = {
  BAD_REQUEST: {
    status: 400,
    meaning: 'A parameter, header or body is not valid.',
    action: 'Correct the fields that `details` lists.',
  },
  UNAUTHORIZED: {
    status: 401,
    meaning: 'A token is required, and the request has none or one that is not valid.',
    action: 'Send `Authorization: Bearer TOKEN`; `holdfast token create` creates a token.',
  },
  FORBIDDEN: {
    status: 403,
    meaning:
      'The role of the caller is too low, the request comes from another machine or site without a token, or its target is a private address.',
    action: 'Use a token with the role that the message names.',
  },
  NOT_FOUND: {
    status: 404,
    meaning: 'The path, or the resource that it names, does not exist.',
    action: 'Check the path and the id; `/docs` lists all paths.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    meaning: 'The path exists, but not with this method.',
    action: 'Use one of the methods in the header Allow.',
  },
  PRECONDITION_FAILED: {
    status: 412,
    meaning: 'The resource has changed since its ETag was read, or already exists.',
    action: 'Read the resource again, apply the change to it, and send the new ETag.',
  },
  RATE_LIMITED: {
    status: 429,
    meaning:
      'Too many wrong tokens came from this address, too many clients read the event stream, or too many texts of configurations are validated.',
    action: 'Wait for the time in the header Retry-After.',
  },
  INTERNAL: {
    status: 500,
    meaning: 'An unexpected error occurred.',
    action: 'Find the request id in the log of the server and report the error.',
  },
  UPSTREAM_FAILED: {
    status: 502,
    meaning: 'The target of a request through a pool failed.',
    action: 'See the attempts in `details`.',
  },
} as const satisfies Record<string, ErrorCodeInfo>

/** The codes of `HoldfastError`, whose statuses are in the table of the core. A code that is missing here does not compile. */
export const LIBRARY_ERRORS = {
  INVALID_OPTIONS: {
    meaning: 'Options, arguments or a snapshot are not valid.',
    action: 'Correct the problems; `details` has one sentence for each.',
  },
  CONFIG_INVALID: {
    meaning: 'The config file, or a change of the configuration, is not valid.',
    action: 'Correct the problems in `details`; `holdfast check` shows them with their lines.',
  },
  POLICY_NOT_FOUND: {
    meaning: 'There is no policy with this id.',
    action: 'Check the id, or add the policy to the configuration.',
  },
  DEAD_LETTER_NOT_FOUND: {
    meaning: 'There is no dead letter with this id.',
    action: 'List the dead letters; it may have been purged.',
  },
  DEAD_LETTER_LEASED: {
    meaning: 'Another process replays the dead letter.',
    action: 'Retry after `retryAfter`, when its lease has ended.',
  },
  IDEMPOTENCY_CONFLICT: {
    meaning: 'The idempotency key already belongs to another operation or payload.',
    action: 'Use one key for each operation and payload.',
  },
  POLICY_IN_USE: {
    meaning: 'The policy cannot be deleted, because the configuration refers to it.',
    action: 'Remove the references that `details` lists.',
  },
  PAYLOAD_TOO_LARGE: {
    meaning: 'The body of a request, or the payload of a dead letter, is too large.',
    action: 'Send less, store a reference to the data, or raise `dead_letters.max_payload`.',
  },
  BULKHEAD_FULL: {
    meaning: 'The bulkhead has no free slot and no place in its queue.',
    action: 'Retry later, use a fallback, or raise the limit.',
  },
  CANCELLED: {
    meaning:
      'The call was cancelled: through the API, because its client disconnected, or because the runtime or the server closed.',
    action: 'Start the call again if it is still needed.',
  },
  CIRCUIT_OPEN: {
    meaning: 'The circuit breaker rejected a call before its first attempt.',
    action: 'Retry after `retryAfter`, or use a fallback.',
  },
  COMMIT_UNKNOWN: {
    meaning: '`withTransaction` sent COMMIT and received no response.',
    action:
      'Find out whether the transaction was committed, or make it repeatable and set `retryUnknownCommit`.',
  },
  DEAD_LETTERS_FULL: {
    meaning: 'The number of dead letters has reached `dead_letters.max_entries`.',
    action: 'Replay or purge dead letters, or raise the limit.',
  },
  NETWORK_DOWN: {
    meaning:
      'The pool concluded that the local network is down, because most of its members fail with network errors.',
    action: 'Check the network of this machine; retry after `retryAfter`.',
  },
  POOL_UNAVAILABLE: {
    meaning: 'No member of the pool was available for the first attempt of a call.',
    action: 'Retry after `retryAfter` if it is set, or add members.',
  },
  RETRY_BUDGET_EXHAUSTED: {
    meaning:
      '`spend()` was called on a retry budget that has no retry left. A guard throws the error of its last attempt instead.',
    action: 'Do not retry.',
  },
  STORE_UNAVAILABLE: {
    meaning: 'The store cannot be read or written.',
    action: 'Check the store: its disk, its permissions or its server.',
  },
  ATTEMPT_TIMEOUT: {
    meaning: 'The last attempt took longer than its timeout.',
    action: 'Pass `attempt.signal` to the function that waits, or raise the timeout of attempts.',
  },
  TOTAL_TIMEOUT: {
    meaning: 'The call took longer than its total timeout, with all attempts and delays.',
    action:
      'See `sessionOf(error)` or the session for the attempts; raise the timeout or reduce the retries.',
  },
} as const satisfies Record<HoldfastErrorCode, Omit<ErrorCodeInfo, 'status'>>

const ERRORS = { ...SERVER_ERRORS, ...LIBRARY_ERRORS }

/** The HTTP status of a code. That of a `HoldfastError` is in the table of the core. */
type StatusOf<C> = C extends HoldfastErrorCode
  ? (typeof OWN_ERRORS)[C][1]
  : C extends keyof typeof SERVER_ERRORS
    ? (typeof SERVER_ERRORS)[C]['status']
    : never

const statusOf = (code: ErrorCode): number =>
  Object.hasOwn(OWN_ERRORS, code)
    ? OWN_ERRORS[code as HoldfastErrorCode][1]
    : SERVER_ERRORS[code as keyof typeof SERVER_ERRORS].status

/** A code that a response can carry. It is stable; the message beside it is for people. */
export type ErrorCode = keyof typeof ERRORS

/** Every code, in the order of its status. */
export const ERROR_CODES = (Object.keys(ERRORS) as ErrorCode[]).sort((a, b) => statusOf(a) - statusOf(b)) as [
  ErrorCode,
  ...ErrorCode[],
]

/** The HTTP status of each code. */
export const HTTP_STATUS_BY_CODE = Object.fromEntries(ERROR_CODES.map((code) => [code, statusOf(code)])) as {
  readonly [C in ErrorCode]: StatusOf<C>
}

/** A list of the codes with their meanings, for OpenAPI. */
export const describeErrorCodes = (): string =>
  ERROR_CODES.map((code) => `- \`${code}\`: ${ERRORS[code].meaning}`).join('\n')

/** A status of {@link HTTP_STATUS_BY_CODE}. */
export type ErrorStatus = (typeof HTTP_STATUS_BY_CODE)[ErrorCode]

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
  503: 'Not possible at the moment; Retry-After gives the time to wait, if it is known.',
  504: 'The operation timed out.',
}

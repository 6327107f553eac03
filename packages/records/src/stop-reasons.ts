import type { StopReason } from 'holdfast'

/** Each stop reason: when it applies, and the result that the caller gets. */
export const STOP_REASON_INFO = {
  succeeded: {
    when: 'An attempt succeeded. Only calls that failed at least once before have a record.',
    result: 'The value.',
  },
  not_retryable: {
    when: 'The policy does not retry the error of the attempt.',
    result: 'The error of the last attempt.',
  },
  attempts_spent: {
    when: 'The maximum number of attempts was made.',
    result: 'The error of the last attempt.',
  },
  deadline: {
    when: 'The total timeout passed, or the next delay would have ended after it, or Retry-After is above its maximum.',
    result: '`TOTAL_TIMEOUT` if the timeout passed, otherwise the error of the last attempt.',
  },
  budget_spent: {
    when: 'The retry budget has no retry left.',
    result: 'The error of the last attempt.',
  },
  circuit_open: {
    when: 'The circuit breaker rejected the first attempt, or opened before the next one.',
    result: '`CIRCUIT_OPEN` before the first attempt, otherwise the error of the last attempt.',
  },
  pool_unavailable: {
    when: 'No member of the pool was available for the first attempt, or for the next one.',
    result: '`POOL_UNAVAILABLE` before the first attempt, otherwise the error of the last attempt.',
  },
  network_down: {
    when: 'The pool concluded that the local network is down.',
    result: '`NETWORK_DOWN` before the first attempt, otherwise the error of the last attempt.',
  },
  bulkhead_full: {
    when: 'The bulkhead had no free slot and no place in its queue.',
    result: '`BULKHEAD_FULL`.',
  },
  unwanted_value: {
    when: 'The last attempt returned a value that `retryIf` retries, and no further attempt was allowed.',
    result: 'The value of the last attempt.',
  },
  before_retry: {
    when: 'The function `beforeRetry` threw.',
    result: 'The error of `beforeRetry`, with that of the last attempt as its cause.',
  },
  nested: {
    when: 'A guard inside the attempt used up its retries, and the policy does not add further ones.',
    result: 'The error of the last attempt.',
  },
  cancelled: {
    when: 'The call was cancelled through the API or because the runtime closed.',
    result: '`CANCELLED`.',
  },
  aborted: {
    when: "The caller's signal was aborted.",
    result: 'The reason of the signal.',
  },
} as const satisfies Record<StopReason, { when: string; result: string }>

/** Why a call ended. */
export const STOP_REASONS = Object.keys(STOP_REASON_INFO) as [StopReason, ...StopReason[]]

import type { HoldfastErrorCode } from '../errors.js'

/** Why a call ended. */
export type StopReason =
  | 'succeeded'
  | 'not_retryable'
  | 'attempts_spent'
  | 'deadline'
  | 'budget_spent'
  | 'circuit_open'
  | 'pool_unavailable'
  | 'network_down'
  | 'bulkhead_full'
  | 'unwanted_value'
  | 'before_retry'
  | 'nested'
  | 'cancelled'
  | 'aborted'

/** The reasons with which a guard ends a call after it used up its own retries. */
const EXHAUSTION: ReadonlySet<StopReason> = new Set([
  'attempts_spent',
  'deadline',
  'budget_spent',
  'circuit_open',
  'nested',
])

/** Whether a call that ended so has used up its retries. A call that allows only one attempt has used up none. */
export const isExhausted = (stopped: StopReason, maxAttempts: number): boolean =>
  maxAttempts > 1 && EXHAUSTION.has(stopped)

/** The stop reason of a call that a guard rejects with each of these codes. */
const STOP_REASON_BY_CODE = {
  CIRCUIT_OPEN: 'circuit_open',
  POOL_UNAVAILABLE: 'pool_unavailable',
  NETWORK_DOWN: 'network_down',
  BULKHEAD_FULL: 'bulkhead_full',
} as const satisfies { readonly [code in HoldfastErrorCode]?: StopReason }

/** A code with which a guard rejects a call before its first attempt. */
type RejectionCode = keyof typeof STOP_REASON_BY_CODE

/** The stop reason of a rejected call. */
export type RejectionReason = (typeof STOP_REASON_BY_CODE)[RejectionCode]

/** The stop reason of a call that a guard rejects with this code; undefined for the code of any other error. */
export const rejectionReason = (code: HoldfastErrorCode): RejectionReason | undefined =>
  STOP_REASON_BY_CODE[code as RejectionCode]

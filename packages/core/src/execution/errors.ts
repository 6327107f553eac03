import { createCheapError, type HoldfastError, type HoldfastErrorOptions } from '../errors.js'

/** The error of an attempt that did not end before its deadline. */
export const createAttemptTimeoutError = (
  name: string | undefined,
  attempt: number,
  timeoutMs: number,
): HoldfastError =>
  createCheapError(
    'ATTEMPT_TIMEOUT',
    `attempt ${attempt} of ${name ?? 'a call'} took over ${timeoutMs} ms`,
    {},
  )

/** The error of a call that did not end before its total deadline. */
export const createTotalTimeoutError = (
  name: string | undefined,
  timeoutMs: number,
  options: HoldfastErrorOptions = {},
): HoldfastError =>
  createCheapError('TOTAL_TIMEOUT', `${name ?? 'a call'} took over ${timeoutMs} ms in total`, options)

/** The error of a call that got neither a bulkhead slot nor a place in the queue. */
export const createBulkheadFullError = (name: string | undefined): HoldfastError =>
  createCheapError('BULKHEAD_FULL', `the bulkhead of ${name ?? 'a call'} and its queue are full`, {})

/** The statuses below 500 that a policy can retry. */
export const RETRYABLE_CLIENT_STATUSES: readonly number[] = [408, 425, 429]

const CLIENT_STATUSES = RETRYABLE_CLIENT_STATUSES.join(', ')

/** A status that a policy can retry, and a list of them, in words. */
export const RETRYABLE_STATUS = `${CLIENT_STATUSES} or a status from 500 to 599`
export const RETRYABLE_STATUS_ARRAY = `an array of ${CLIENT_STATUSES} and statuses from 500 to 599`

/** Whether a policy can retry a status. */
export const isRetryableStatus = (status: unknown): boolean =>
  Number.isInteger(status) &&
  (RETRYABLE_CLIENT_STATUSES.includes(status as number) || Math.floor((status as number) / 100) === 5)

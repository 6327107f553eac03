/** Statuses of responses without a body. */
const BODILESS_STATUSES = new Set([204, 304])

/** Whether a response with this status has no body, even if it has a Content-Length. */
export const isBodiless = (status: number): boolean => BODILESS_STATUSES.has(status)

/**
 * Whether an error means only that a response without a body has a Content-Length, as a 304 can have: undici reports such a
 * response as incomplete, although it is complete.
 */
export const isBodilessLengthError = (status: number, error: Error): boolean =>
  isBodiless(status) && (error as { code?: unknown }).code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'

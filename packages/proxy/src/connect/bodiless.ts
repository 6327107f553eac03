/** Statuses whose answers end with their head. */
const BODILESS_STATUSES = new Set([204, 304])

/** Whether an answer with this status has no body, whatever length its head tells. */
export const isBodiless = (status: number): boolean => BODILESS_STATUSES.has(status)

/**
 * Whether an error says no more than that an answer without a body told the length that one would have, as a 304 may: undici
 * takes that for a torn answer, though it is whole.
 */
export const isBodilessLengthError = (status: number, error: Error): boolean =>
  isBodiless(status) && (error as { code?: unknown }).code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'

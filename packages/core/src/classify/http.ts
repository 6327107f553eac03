import {
  type Classification,
  type ErrorLike,
  isErrorLike,
  memoize,
  PERMANENT_UNKNOWN,
} from './classification.js'
import { byCode } from './error-codes.js'

/** Classifies an HTTP status. A status below 400 is not a failure and is never retried. */
export const byHttpStatus = memoize(
  (httpStatus: number): Classification =>
    Object.freeze({ ...(byCode(`http:${httpStatus}`) ?? PERMANENT_UNKNOWN), httpStatus }),
)

const parseStatus = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 100 && value < 600 ? value : undefined

/** Returns the HTTP status of an error, from any of the properties that clients use. */
export function httpStatusOf({ status, statusCode, response, $metadata }: ErrorLike): number | undefined {
  return (
    parseStatus(status) ??
    parseStatus(statusCode) ??
    (isErrorLike(response)
      ? (parseStatus(response.status) ?? parseStatus(response.statusCode))
      : undefined) ??
    (isErrorLike($metadata) ? parseStatus($metadata.httpStatusCode) : undefined)
  )
}

import {
  type Classification,
  type ErrorLike,
  isErrorLike,
  memoize,
  PERMANENT_UNKNOWN,
} from './classification.js'
import { byCode } from './error-codes.js'

/** What an HTTP status says. Below 400 there is no failure, and so nothing to try again. */
export const byHttpStatus = memoize(
  (httpStatus: number): Classification =>
    Object.freeze({ ...(byCode(`http:${httpStatus}`) ?? PERMANENT_UNKNOWN), httpStatus }),
)

const parseStatus = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 100 && value < 600 ? value : undefined

/** The HTTP status in an error, wherever its client puts it. */
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

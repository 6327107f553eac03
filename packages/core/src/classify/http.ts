import { type Bag, type Classification, HOPELESS, isBag, memo } from './verdict.js'
import { byWord } from './words.js'

/** What an HTTP status says. Below 400 there is no failure, and so nothing to try again. */
export const byStatus = memo(
  (httpStatus: number): Classification =>
    Object.freeze({ ...(byWord(`http:${httpStatus}`) ?? HOPELESS), httpStatus }),
)

const asStatus = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 100 && value < 600 ? value : undefined

/** The HTTP status in an error, wherever its client puts it. */
export function statusOf({ status, statusCode, response, $metadata }: Bag): number | undefined {
  return (
    asStatus(status) ??
    asStatus(statusCode) ??
    (isBag(response) ? (asStatus(response.status) ?? asStatus(response.statusCode)) : undefined) ??
    (isBag($metadata) ? asStatus($metadata.httpStatusCode) : undefined)
  )
}

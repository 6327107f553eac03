import { isErrorLike } from '../classify/classification.js'
import { headerValues } from '../classify/retry-after.js'

/**
 * Whether a response, or the error of one, reports that another retry is useless: a guard behind the server used up its
 * retries, a gRPC server forbids a retry (a negative pushback), or Envoy is overloaded.
 */
export function isExhaustedResponse(result: unknown): boolean {
  if (!isErrorLike(result) || !isErrorLike(result.headers)) return false
  const { headers } = result
  const valuesOf = (name: string) => headerValues(headers, name).filter((value) => typeof value === 'string')
  return (
    valuesOf('x-retries-exhausted').some((value) => value.trim() === '1') ||
    valuesOf('grpc-retry-pushback-ms').some((value) => Number(value) < 0) ||
    valuesOf('x-envoy-overloaded').length > 0
  )
}

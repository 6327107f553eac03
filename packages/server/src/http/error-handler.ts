import { type HoldfastError, isHoldfastError } from 'holdfast'
import { formatProblem, type OptionProblem } from 'holdfast/internal'
import type { Context } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { ApiError, retryAfterHeader } from './api-error.js'
import { HTTP_STATUS_BY_CODE } from './error-codes.js'
import { type FieldProblem, fieldError } from './validation.js'

/** Whether an error of the runtime is about the input of a request. */
const isInputError = (error: HoldfastError): boolean => HTTP_STATUS_BY_CODE[error.code] === 400

/** The problems of an error of the runtime, worded for a response. */
export function problemsOf(error: HoldfastError): FieldProblem[] {
  const { problems, details = [error.message] } = error as HoldfastError & {
    problems?: readonly (FieldProblem | OptionProblem)[]
  }
  return problems === undefined
    ? details.map((message) => ({ path: '', message }))
    : problems.map((problem) =>
        'message' in problem
          ? { ...problem }
          : { path: problem.path, message: formatProblem({ ...problem, path: '' }) },
      )
}

/** The statuses with which Retry-After is sent. */
const RETRY_AFTER_STATUSES = new Set<number>([429, 503, 504])

export const JSON_REQUIRED = 'expected content-type: application/json'

/** The response to an error. An unexpected error reveals nothing but the request id. */
function toApiError(error: unknown, requestId: string): ApiError {
  if (error instanceof ApiError) return error
  // An error of another version of the package can have a code that is not known here.
  if (isHoldfastError(error) && Object.hasOwn(HTTP_STATUS_BY_CODE, error.code)) {
    const { code, message, retryAfter } = error
    const details = isInputError(error) ? problemsOf(error) : error.details
    const headers =
      retryAfter !== undefined &&
      Number.isFinite(retryAfter) &&
      RETRY_AFTER_STATUSES.has(HTTP_STATUS_BY_CODE[code])
        ? retryAfterHeader(retryAfter)
        : {}
    return new ApiError(code, message, { ...(details === undefined ? {} : { details }), headers })
  }
  if (error instanceof HTTPException) {
    if (error.status === 413) return new ApiError('PAYLOAD_TOO_LARGE', error.message)
    if (error.status === 415) return fieldError('header', 'content-type', JSON_REQUIRED)
    if (error.status < 500) return fieldError('request', '', error.message || 'the request is malformed')
  }
  return new ApiError('INTERNAL', `unexpected error; the log of the server has it under ${requestId}`)
}

/** Redacts a detail: a line, or the message of a field. */
function redactDetail(detail: unknown, redact: (text: string) => string): unknown {
  if (typeof detail === 'string') return redact(detail)
  const { message } = Object(detail) as { message?: unknown }
  return typeof message === 'string' ? { ...(detail as object), message: redact(message) } : detail
}

/** Creates the function that answers errors, with secrets redacted. */
export function createErrorHandler(options: {
  redact: (text: string) => string
  log: (error: unknown, requestId: string) => void
}) {
  return (error: unknown, c: Context): Response => {
    const requestId = c.res.headers.get('x-request-id') ?? ''
    const { code, message, details, headers } = toApiError(error, requestId)
    if (code === 'INTERNAL') options.log(error, requestId)
    const redacted = details?.map((detail) => redactDetail(detail, options.redact))
    const body = {
      error: code,
      message: options.redact(message),
      ...(redacted === undefined ? {} : { details: redacted }),
    }
    return c.json(body, HTTP_STATUS_BY_CODE[code], headers)
  }
}

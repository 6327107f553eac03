import type { Hook } from '@hono/zod-openapi'
import { type HoldfastError, isHoldfastError } from 'holdfast'
import type { Context } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { z } from 'zod'
import { type ErrorCode, HTTP_STATUS_BY_CODE } from './codes.js'

/** Why a request is not answered as it wishes. */
export class ApiError extends Error {
  readonly code: ErrorCode
  readonly details: readonly unknown[] | undefined
  readonly headers: Record<string, string>

  constructor(
    code: ErrorCode,
    message: string,
    more: { details?: readonly unknown[]; headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(message, 'cause' in more ? { cause: more.cause } : undefined)
    this.code = code
    this.details = more.details
    this.headers = more.headers ?? {}
  }
}

/** Where a part of a request stands, as its sender would say. */
const REQUEST_PARTS: Record<string, string> = { json: 'body', param: 'path' }

/** What is wrong with a field of a request; `in` where it is known which part of the request has it. */
export interface FieldProblem {
  in?: string
  path: string
  message: string
}

type ZodIssue = z.core.$ZodIssue

/** What a number must be, or how long a text or a list. */
function formatBound(origin: string, comparison: string, limit: unknown): string {
  if (origin === 'string' && comparison === 'at least' && limit === 1) return 'takes a text that is not empty'
  const unit = origin === 'string' ? ' characters' : origin === 'array' || origin === 'set' ? ' entries' : ''
  return `takes ${comparison} ${String(limit)}${unit}`
}

/** What is wrong with a field, as the schema says where it says anything, and else in the words of every other message. */
function formatIssue(issue: ZodIssue): string {
  if (!/^(Too |Invalid |Unrecognized )/.test(issue.message)) return issue.message
  if (issue.code === 'invalid_type') {
    const article = /^[aeiou]/.test(issue.expected) ? 'an' : 'a'
    const missing = issue.message.endsWith('received undefined') ? ', and is missing' : ''
    return `takes ${article} ${issue.expected}${missing}`
  }
  if (issue.code === 'invalid_value')
    return `takes ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.map(String).join(', ')}`
  if (issue.code === 'too_small')
    return formatBound(issue.origin, issue.inclusive === false ? 'more than' : 'at least', issue.minimum)
  if (issue.code === 'too_big')
    return formatBound(issue.origin, issue.inclusive === false ? 'less than' : 'at most', issue.maximum)
  if (issue.code === 'unrecognized_keys')
    return `there is no ${issue.keys.map((key) => JSON.stringify(key.slice(0, 100))).join(', ')} here`
  const first =
    issue.code === 'invalid_union'
      ? issue.errors[0]?.[0]
      : issue.code === 'invalid_key'
        ? (issue.issues[0] as ZodIssue | undefined)
        : undefined
  return first === undefined ? issue.message : formatIssue(first)
}

/** What zod found, one sentence a field. */
function toFieldProblems(error: z.core.$ZodError, place: string): FieldProblem[] {
  return error.issues.map((issue) => ({
    in: REQUEST_PARTS[place] ?? place,
    path: [...issue.path, ...(issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [])].join('.'),
    message: formatIssue(issue),
  }))
}

/** A request whose fields do not fit: 400, with a path and a sentence for each. */
export function createValidationError(error: z.core.$ZodError, place: string): ApiError {
  const details = toFieldProblems(error, place)
  const message = details
    .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
    .join('; ')
  return new ApiError('BAD_REQUEST', `the ${details[0]?.in ?? 'request'} does not fit: ${message}`, {
    details,
  })
}

/** What is wrong with one field, where that is all. */
export const fieldError = (place: string, path: string, message: string): ApiError =>
  new ApiError('BAD_REQUEST', path === '' ? message : `${path}: ${message}`, {
    details: [{ in: place, path, message }],
  })

/** Whether an error is the runtime's word on what it was given. */
const isInputError = (error: HoldfastError): boolean => HTTP_STATUS_BY_CODE[error.code as ErrorCode] === 400

/** What the runtime says is wrong, a path and a sentence each. It tells problems as data, or as lines `path: sentence`. */
export function problemsOfRuntimeError(error: HoldfastError): FieldProblem[] {
  const { problems, details = [error.message] } = error as HoldfastError & {
    problems?: readonly FieldProblem[]
  }
  return (
    problems?.map((problem) => ({ ...problem })) ??
    details.map((line) => {
      const [, path = '', message = line] = /^([\w$?.[\]-]+): (.+)$/s.exec(line) ?? []
      return { path, message }
    })
  )
}

/** Told of every check of a request. */
// oxlint-disable-next-line typescript/no-explicit-any -- the hook serves routes of every kind
export const onValidationResult: Hook<any, any, any, any> = (result) => {
  if (!result.success) throw createValidationError(result.error, result.target)
}

/** Seconds, rounded up, so that nobody comes back too early. */
export const retryAfterHeader = (ms: number): Record<string, string> => ({
  'retry-after': String(Math.max(0, Math.ceil(ms / 1000))),
})

const RETRY_AFTER_STATUSES = new Set<number>([429, 503, 504])

/** What an error is answered with. An error that nobody foresaw tells nothing of itself. */
function toApiError(error: unknown, requestId: string): ApiError {
  if (error instanceof ApiError) return error
  if (isHoldfastError(error) && error.code in HTTP_STATUS_BY_CODE) {
    const { code, message } = error
    const details = isInputError(error) ? problemsOfRuntimeError(error) : error.details
    const hinted = error.retryAfter !== undefined && Number.isFinite(error.retryAfter)
    const headers =
      hinted && RETRY_AFTER_STATUSES.has(HTTP_STATUS_BY_CODE[code])
        ? retryAfterHeader(error.retryAfter as number)
        : {}
    return new ApiError(code as ErrorCode, message, {
      ...(details === undefined ? {} : { details }),
      headers,
    })
  }
  if (error instanceof HTTPException) {
    if (error.status === 413) return new ApiError('PAYLOAD_TOO_LARGE', error.message)
    if (error.status === 415)
      return fieldError(
        'header',
        'content-type',
        'the body must be JSON: send content-type: application/json',
      )
    if (error.status < 500) return fieldError('request', '', error.message || 'the request is malformed')
  }
  return new ApiError('INTERNAL', `something went wrong in the server; its log has more under ${requestId}`)
}

/** A detail without secrets: a line, or what is wrong with a field. */
function redactDetail(detail: unknown, redact: (text: string) => string): unknown {
  if (typeof detail === 'string') return redact(detail)
  const { message } = Object(detail) as { message?: unknown }
  return typeof message === 'string' ? { ...(detail as object), message: redact(message) } : detail
}

/** Turns errors into answers. */
export function createErrorHandler(options: {
  redact: (text: string) => string
  log: (error: unknown, requestId: string) => void
}) {
  return (error: unknown, c: Context): Response => {
    const requestId = c.res.headers.get('x-request-id') ?? ''
    const { code, message, details, headers } = toApiError(error, requestId)
    if (code === 'INTERNAL') options.log(error, requestId)
    const shown = details?.map((detail) => redactDetail(detail, options.redact))
    const body = {
      error: code,
      message: options.redact(message),
      ...(shown === undefined ? {} : { details: shown }),
    }
    return c.json(body, HTTP_STATUS_BY_CODE[code], headers)
  }
}

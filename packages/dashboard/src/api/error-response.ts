/** An error response of the server. */
export class ApiClientError extends Error {
  readonly status: number
  readonly code: string
  readonly details: readonly unknown[]
  /** The seconds to wait before the next request, from the header Retry-After. */
  readonly retryAfter: number | undefined

  constructor(
    status: number,
    code: string,
    message: string,
    options: { details?: readonly unknown[] | undefined; retryAfter?: number | undefined } = {},
  ) {
    super(message)
    this.status = status
    this.code = code
    this.details = options.details ?? []
    this.retryAfter = options.retryAfter
  }
}

/** The form of the error codes of the server. */
const ERROR_CODE = /^[A-Z][A-Z_]*$/

/** The body of an error response. */
interface ErrorBody {
  readonly error: string
  readonly message: string
  readonly details: readonly unknown[]
}

/** The error of a response. A proxy in front of the server can respond with any other body. */
export async function parseError(response: Response): Promise<ApiClientError> {
  const { status, headers } = response
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  const retryAfter = Number.isFinite(seconds) ? seconds : undefined
  const body: unknown = await response.json().catch(() => undefined)
  const { error, message, details } = Object(body) as Partial<ErrorBody>
  if (typeof error !== 'string' || !ERROR_CODE.test(error) || typeof message !== 'string')
    return new ApiClientError(
      status,
      'UNREADABLE',
      `The server responded with status ${status} and no error message.`,
      { retryAfter },
    )
  return new ApiClientError(status, error, message, { details, retryAfter })
}

import { type UrlQuery, urlFor } from '../route.js'
import { onTokenRejected, token } from './token.js'

/** An error response of the server. */
export class ApiClientError extends Error {
  readonly status: number
  readonly code: string
  readonly details: readonly unknown[]

  constructor(status: number, code: string, message: string, details: readonly unknown[] = []) {
    super(message)
    this.status = status
    this.code = code
    this.details = details
  }
}

export interface ApiRequestOptions {
  query?: UrlQuery
  body?: unknown
  /** The reason for the audit trail. */
  reason?: string | undefined
  headers?: Record<string, string>
  signal?: AbortSignal
}

type HttpMethod = 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'

/** Sends a request with the token of the tab, if there is one. @throws ApiClientError for an error response */
export async function sendRequest(
  method: HttpMethod,
  path: string,
  options: ApiRequestOptions = {},
): Promise<Response> {
  const { query, body, reason, signal } = options
  const currentToken = token.peek()
  const headers: Record<string, string> = { ...options.headers }
  if (currentToken !== undefined) headers['authorization'] = `Bearer ${currentToken}`
  if (body !== undefined) headers['content-type'] ??= 'application/json'
  if (reason) headers['x-reason'] = encodeHeader(reason)
  let response: Response
  try {
    response = await fetch(`/api/v1${urlFor(path, query)}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    })
  } catch (error) {
    if (signal?.aborted === true) throw error
    throw new ApiClientError(
      0,
      'UNREACHABLE',
      'The server cannot be reached. The page reconnects automatically.',
    )
  }
  if (response.ok) return response
  if (response.status === 401 && currentToken === token.peek()) onTokenRejected(currentToken !== undefined)
  throw await parseError(response)
}

/** Sends a request and parses the JSON of its response; undefined for a response without a body. */
export async function callApi<T>(
  method: HttpMethod,
  path: string,
  options: ApiRequestOptions = {},
): Promise<T> {
  const response = await sendRequest(method, path, options)
  return (response.status === 204 ? undefined : await response.json()) as T
}

export const getJson = <T>(
  path: string,
  query?: ApiRequestOptions['query'],
  signal?: AbortSignal,
): Promise<T> => callApi<T>('GET', path, { ...(query && { query }), ...(signal && { signal }) })

/** Headers are Latin-1. Other characters are replaced by a question mark, because the browser would reject them. */
const encodeHeader = (text: string): string => text.replace(/[^\x20-\x7e\xa0-\xff]/g, '?').trim()

async function parseError(response: Response): Promise<ApiClientError> {
  try {
    const { error, message, details } = (await response.json()) as {
      error: string
      message: string
      details?: unknown[]
    }
    return new ApiClientError(response.status, error, message, details)
  } catch {
    return new ApiClientError(
      response.status,
      'UNREADABLE',
      `The server responded with status ${response.status} and no error message.`,
    )
  }
}

/** All items of a list, page by page. */
export async function* fetchPages<T>(
  path: string,
  query: UrlQuery = {},
  key = 'items',
  signal?: AbortSignal,
): AsyncGenerator<T[]> {
  let cursor: string | undefined
  do {
    const page = await getJson<Record<string, unknown>>(path, { limit: '1000', ...query, cursor }, signal)
    yield page[key] as T[]
    cursor = page['cursor'] as string | undefined
  } while (cursor !== undefined)
}

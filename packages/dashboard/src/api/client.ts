import { type UrlQuery, urlFor } from '../route.js'
import { onTokenRejected, token } from './token.js'

/** A refusal of the server's, in its own words. */
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
  /** Why, for the audit trail. */
  reason?: string | undefined
  headers?: Record<string, string>
  signal?: AbortSignal
}

type HttpMethod = 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'

/** Asks the server, with the tab's token where there is one, and hands over the answer as it comes. */
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
    throw new ApiClientError(0, 'UNREACHABLE', 'The server cannot be reached. It is tried again by itself.')
  }
  if (response.ok) return response
  if (response.status === 401 && currentToken === token.peek()) onTokenRejected(currentToken !== undefined)
  throw await parseError(response)
}

/** The same, for answers in JSON. An answer without a body is undefined. */
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

/** Headers hold Latin letters alone: what is beyond them is shown as a question mark rather than refused. */
const encodeHeader = (text: string): string => text.replace(/[^\x20-\x7e\xa0-\xff]/g, '?').trim()

async function parseError(answer: Response): Promise<ApiClientError> {
  try {
    const { error, message, details } = (await answer.json()) as {
      error: string
      message: string
      details?: unknown[]
    }
    return new ApiClientError(answer.status, error, message, details)
  } catch {
    return new ApiClientError(
      answer.status,
      'UNREADABLE',
      `The server answered ${answer.status} without a reason.`,
    )
  }
}

/** Every item of a list, a page at a time. */
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

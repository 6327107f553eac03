import { type UrlQuery, urlFor } from '../route.js'
import { ApiClientError, parseError } from './error-response.js'
import { onSignInRejected } from './sign-in.js'

export interface ApiRequestOptions {
  query?: UrlQuery
  body?: unknown
  /** The reason for the audit trail. */
  reason?: string | undefined
  headers?: Record<string, string>
  signal?: AbortSignal
}

type HttpMethod = 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'

/** The token against cross-site request forgery, which is loaded with the role of the caller. */
interface CsrfSource {
  current(): string | undefined
  reload(): Promise<void>
}

let csrfSource: CsrfSource = { current: () => undefined, reload: () => Promise.resolve() }

export const setCsrfSource = (source: CsrfSource): void => {
  csrfSource = source
}

/** Sends a request once. */
async function sendOnce(method: HttpMethod, path: string, options: ApiRequestOptions): Promise<Response> {
  const { query, body, reason, signal } = options
  const csrfToken = csrfSource.current()
  const headers: Record<string, string> = { ...options.headers }
  if (csrfToken !== undefined && method !== 'GET') headers['x-csrf-token'] = csrfToken
  if (body !== undefined) headers['content-type'] ??= 'application/json'
  if (reason) headers['x-reason'] = encodeHeader(reason)
  try {
    return await fetch(`/api/v1${urlFor(path, query)}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    })
  } catch (error) {
    if (signal?.aborted === true) throw error
    throw new ApiClientError(0, 'UNREACHABLE', UNREACHABLE_MESSAGES[method === 'GET' ? 'read' : 'change'])
  }
}

/** Reads are repeated by the page that needs them. Changes are not: the connection can break after the server has made one. */
const UNREACHABLE_MESSAGES = {
  read: 'The server cannot be reached. The data is loaded again when the connection is back.',
  change:
    'The server cannot be reached. The change is not sent again. Check whether it was made when the connection is back.',
}

/** Sends a request; the browser adds the cookie of the sign-in. @throws ApiClientError for an error response */
export async function sendRequest(
  method: HttpMethod,
  path: string,
  options: ApiRequestOptions = {},
): Promise<Response> {
  const csrfToken = csrfSource.current()
  const response = await sendOnce(method, path, options)
  if (response.ok) return response
  // After a sign-in in another tab the CSRF token is another one. The server has rejected the request before it did anything.
  if (response.status === 403 && method !== 'GET' && csrfToken !== undefined) {
    await csrfSource.reload().catch(() => undefined)
    if (csrfSource.current() !== csrfToken) {
      const second = await sendOnce(method, path, options)
      if (second.ok) return second
      throw await parseError(second)
    }
  }
  if (response.status === 401) onSignInRejected(csrfToken !== undefined)
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

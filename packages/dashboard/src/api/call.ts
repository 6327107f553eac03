import { address, type Query } from '../route.js'
import { refused, token } from './token.js'

/** A refusal of the server's, in its own words. */
export class ApiError extends Error {
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

export interface CallOptions {
  query?: Query
  body?: unknown
  /** Why, for the audit trail. */
  reason?: string | undefined
  headers?: Record<string, string>
  signal?: AbortSignal
}

type Method = 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'

/** Asks the server, with the tab's token where there is one, and hands over the answer as it comes. */
export async function request(method: Method, path: string, options: CallOptions = {}): Promise<Response> {
  const { query, body, reason, signal } = options
  const shown = token.peek()
  const headers: Record<string, string> = { ...options.headers }
  if (shown !== undefined) headers['authorization'] = `Bearer ${shown}`
  if (body !== undefined) headers['content-type'] ??= 'application/json'
  if (reason) headers['x-reason'] = encodeHeader(reason)
  let answer: Response
  try {
    answer = await fetch(`/api/v1${address(path, query)}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    })
  } catch (error) {
    if (signal?.aborted === true) throw error
    throw new ApiError(0, 'UNREACHABLE', 'The server cannot be reached. It is tried again by itself.')
  }
  if (answer.ok) return answer
  if (answer.status === 401 && shown === token.peek()) refused(shown !== undefined)
  throw await errorOf(answer)
}

/** The same, for answers in JSON. An answer without a body is undefined. */
export async function call<T>(method: Method, path: string, options: CallOptions = {}): Promise<T> {
  const answer = await request(method, path, options)
  return (answer.status === 204 ? undefined : await answer.json()) as T
}

export const get = <T>(path: string, query?: CallOptions['query'], signal?: AbortSignal): Promise<T> =>
  call<T>('GET', path, { ...(query && { query }), ...(signal && { signal }) })

/** Headers hold Latin letters alone: what is beyond them is shown as a question mark rather than refused. */
const encodeHeader = (text: string): string => text.replace(/[^\x20-\x7e\xa0-\xff]/g, '?').trim()

async function errorOf(answer: Response): Promise<ApiError> {
  try {
    const { error, message, details } = (await answer.json()) as {
      error: string
      message: string
      details?: unknown[]
    }
    return new ApiError(answer.status, error, message, details)
  } catch {
    return new ApiError(answer.status, 'UNREADABLE', `The server answered ${answer.status} without a reason.`)
  }
}

/** Every item of a list, a page at a time. */
export async function* pages<T>(
  path: string,
  query: Query = {},
  key = 'items',
  signal?: AbortSignal,
): AsyncGenerator<T[]> {
  let cursor: string | undefined
  do {
    const page = await get<Record<string, unknown>>(path, { limit: '1000', ...query, cursor }, signal)
    yield page[key] as T[]
    cursor = page['cursor'] as string | undefined
  } while (cursor !== undefined)
}

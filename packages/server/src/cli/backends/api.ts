import { type CommandContext, serverUrl } from '../context/context.js'
import { CommandFailure, EXIT_CODES, exitCodeFor } from '../context/exit.js'

/** The query, body and headers of a request. */
export interface CliRequestOptions {
  query?: Readonly<Record<string, string | number | boolean | undefined | readonly string[]>>
  body?: unknown
  headers?: Readonly<Record<string, string>>
  signal?: AbortSignal
}

/** The API of a running server, or of an app in this process that uses the store. */
export interface ApiBackend {
  /** Whether it is the API of a running server. */
  readonly isRemote: boolean
  send(method: string, path: string, options?: CliRequestOptions): Promise<Response>
  close(): Promise<void>
}

/** How a command uses the store. */
export interface StoreAccess {
  /** Whether the command writes. */
  canWrite?: boolean
  /** Whether the command reads no stored records, so that a memory store is sufficient. */
  canUseMemory?: boolean
}

/** The path below `/api/v1` with its query. */
export function urlFor(path: string, query: CliRequestOptions['query'] = {}): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (Array.isArray(value)) for (const one of value as readonly string[]) params.append(name, one)
    else if (value !== undefined) params.append(name, String(value))
  const text = params.toString()
  return `/api/v1${path}${text === '' ? '' : `?${text}`}`
}

/** The arguments of `fetch` for a request, for both backends. */
export const toRequestInit = (
  method: string,
  { body, headers = {}, signal }: CliRequestOptions,
): RequestInit => ({
  method,
  headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
  ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  ...(signal === undefined ? {} : { signal }),
})

/** What the user can do about an error response. */
const HINT_BY_CODE: Record<string, string> = {
  UNAUTHORIZED:
    'give a token with --token or HOLDFAST_TOKEN; holdfast token create NAME --role operator creates one',
  FORBIDDEN: 'use a token with a higher role; holdfast token list shows all tokens',
  DEAD_LETTER_NOT_FOUND: 'holdfast dead-letters list shows all dead letters',
  DEAD_LETTER_LEASED: 'another process replays it; try again in a few minutes',
  POLICY_NOT_FOUND: 'holdfast policies lists all policies',
}

/** The form of the error codes of the server. */
const ERROR_CODE = /^[A-Z][A-Z_]*$/

/** The body of an error response. */
interface ErrorBody {
  readonly error: string
  readonly message: string
  readonly details: readonly unknown[]
}

const TARGET_HINT = 'to allow private targets, add proxy: { allow_private_targets: true } to the config file'

/** The JSON of a response. @throws CommandFailure for an error response, and for a response that is not from Holdfast */
export async function parseResponse<T>(response: Response): Promise<T> {
  if (response.status === 204) return undefined as T
  const { status } = response
  const text = await response.text()
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw createForeignResponseError(`a response that is not JSON (status ${status})`)
  }
  if (response.ok) return body as T
  const { error: code, message, details } = Object(body) as Partial<ErrorBody>
  if (typeof code !== 'string' || !ERROR_CODE.test(code) || typeof message !== 'string')
    throw createForeignResponseError(`a response without an error code (status ${status})`)
  // A private target is rejected because of its address, not because of the role of the caller.
  const isTarget = code === 'FORBIDDEN' && details !== undefined
  const hint = isTarget ? TARGET_HINT : HINT_BY_CODE[code]
  throw new CommandFailure(isTarget ? EXIT_CODES.failure : exitCodeFor(code), message, {
    code,
    ...(hint === undefined ? {} : { hint }),
    ...(details === undefined ? {} : { details }),
  })
}

/** The failure of a command whose server is another program, or is behind a proxy that responds in its place. */
const createForeignResponseError = (got: string): CommandFailure =>
  new CommandFailure(EXIT_CODES.unreachable, `expected a Holdfast server, got ${got}`, {
    code: 'NOT_HOLDFAST',
    hint: 'check the address of --url',
  })

/** Sends a request and returns the JSON of its response. @throws CommandFailure */
export const requestJson = async <T>(
  api: ApiBackend,
  method: string,
  path: string,
  options: CliRequestOptions = {},
): Promise<T> => parseResponse<T>(await api.send(method, path, options))

/** The maximum size of a page. */
const MAX_PAGE_SIZE = 1000

/** The first `limit` items of a list, page by page. `key` is the name of the list in the response. */
export async function fetchList<T>(
  api: ApiBackend,
  path: string,
  { limit, query, key = 'items' }: { limit: number; query?: CliRequestOptions['query']; key?: string },
): Promise<{ items: T[]; hasMore: boolean }> {
  const items: T[] = []
  let cursor: string | undefined
  do {
    const pageQuery = { ...query, limit: Math.min(MAX_PAGE_SIZE, limit - items.length), cursor }
    const page = await requestJson<Record<string, unknown>>(api, 'GET', path, { query: pageQuery })
    items.push(...(page[key] as T[]))
    cursor = page.cursor as string | undefined
  } while (cursor !== undefined && items.length < limit)
  return { items, hasMore: cursor !== undefined }
}

/** The header with the reason of a change: one line of UTF-8 bytes, because headers are Latin-1. */
export const reasonHeader = (reason: string | undefined): Pick<CliRequestOptions, 'headers'> =>
  reason === undefined
    ? {}
    : { headers: { 'x-reason': Buffer.from(reason.replace(/\s+/g, ' ').trim()).toString('latin1') } }

/** The requirements of a command for its API. */
interface ConnectOptions extends StoreAccess {
  /** Why the command needs a running server; undefined where the store is sufficient. */
  liveReason?: string
}

/** Connects a command to its API: the server at `--url`, or an app in this process that uses the store. */
export async function connectApi(
  context: CommandContext,
  { liveReason, ...access }: ConnectOptions = {},
): Promise<ApiBackend> {
  const url = serverUrl(context)
  if (url !== undefined) return (await import('./remote.js')).createRemoteApi(context, url)
  if (liveReason !== undefined)
    throw new CommandFailure(EXIT_CODES.usage, `${liveReason}: --url is required`, {
      code: 'USAGE',
      hint: 'give the address of the server with --url http://127.0.0.1:8000 or HOLDFAST_URL; holdfast serve starts one',
    })
  return (await import('./local.js')).createLocalApi(context, access)
}

/** Runs `work` with an API and closes the API afterwards. */
export async function withApi<T>(
  context: CommandContext,
  options: ConnectOptions,
  work: (api: ApiBackend) => Promise<T>,
): Promise<T> {
  const api = await connectApi(context, options)
  try {
    return await work(api)
  } finally {
    await api.close()
  }
}

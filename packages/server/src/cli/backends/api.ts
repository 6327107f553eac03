import { type CommandContext, serverUrl } from '../context/context.js'
import { CommandFailure, EXIT_CODES, exitCodeFor } from '../context/exit.js'

/** What a request is made of besides its path. */
export interface RequestOptions {
  query?: Readonly<Record<string, string | number | boolean | undefined | readonly string[]>>
  body?: unknown
  headers?: Readonly<Record<string, string>>
  signal?: AbortSignal
}

/** The API of a server: one that runs somewhere, or one made here over the store. */
export interface ApiBackend {
  /** Whether it is a process that runs by itself. */
  readonly isRemote: boolean
  send(method: string, path: string, options?: RequestOptions): Promise<Response>
  close(): Promise<void>
}

/** What a command wants of the store. */
export interface StoreAccess {
  /** Whether it changes anything there. */
  canWrite?: boolean
  /** Whether it asks for nothing that is kept there: any store will do, memory too. */
  anyStore?: boolean
}

/** The path below `/api/v1` with its query. */
export function urlFor(path: string, query: RequestOptions['query'] = {}): string {
  const asked = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (Array.isArray(value)) for (const one of value as readonly string[]) asked.append(name, one)
    else if (value !== undefined) asked.append(name, String(value))
  const text = asked.toString()
  return `/api/v1${path}${text === '' ? '' : `?${text}`}`
}

/** How a request is sent, in both ways. */
export const toRequestInit = (
  method: string,
  { body, headers = {}, signal }: RequestOptions,
): RequestInit => ({
  method,
  headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
  ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  ...(signal === undefined ? {} : { signal }),
})

/** What to do about an answer that is a refusal. */
const HINT_BY_CODE: Record<string, string> = {
  UNAUTHORIZED:
    'give one with --token or in HOLDFAST_TOKEN; holdfast token create NAME --role operator makes one',
  FORBIDDEN: 'use a token with a higher role; holdfast token list shows them',
  DEAD_LETTER_NOT_FOUND: 'holdfast dead-letters list shows what there is',
  DEAD_LETTER_LEASED: 'somebody else is replaying it; look again in a few minutes',
  POLICY_NOT_FOUND: 'holdfast policies lists them',
}

const TARGET_HINT = 'to allow it, add proxy: { allow_private_targets: true } to the config file'

/** What is in an answer, as JSON. @throws CommandFailure for a refusal, and for what no server of ours says */
export async function parseResponse<T>(response: Response): Promise<T> {
  if (response.status === 204) return undefined as T
  const text = await response.text()
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw new CommandFailure(
      EXIT_CODES.unreachable,
      `what answers is no Holdfast server (status ${response.status})`,
      {
        code: 'NOT_HOLDFAST',
        hint: 'look at the address that --url gives',
      },
    )
  }
  if (response.ok) return body as T
  const { error, message, details } = Object(body) as {
    error?: string
    message?: string
    details?: unknown[]
  }
  const code = error ?? `STATUS_${response.status}`
  // Some are refused for what they ask, and not for who asks.
  const isTarget = code === 'FORBIDDEN' && details !== undefined
  const hint = isTarget ? TARGET_HINT : HINT_BY_CODE[code]
  throw new CommandFailure(
    isTarget ? EXIT_CODES.failure : exitCodeFor(code),
    message ?? `the server answered ${response.status}`,
    {
      code,
      ...(hint === undefined ? {} : { hint }),
      ...(details === undefined ? {} : { details }),
    },
  )
}

/** Asks, and gives what is in the answer. @throws CommandFailure */
export const requestJson = async <T>(
  api: ApiBackend,
  method: string,
  path: string,
  options: RequestOptions = {},
): Promise<T> => parseResponse<T>(await api.send(method, path, options))

/** The most that one page may hold. */
const MAX_PAGE_SIZE = 1000

/** The first so many of a list, page after page. `key` is the list's name in the answer. */
export async function fetchList<T>(
  api: ApiBackend,
  path: string,
  { limit, query, key = 'items' }: { limit: number; query?: RequestOptions['query']; key?: string },
): Promise<{ items: T[]; more: boolean }> {
  const items: T[] = []
  let cursor: string | undefined
  do {
    const asked = { ...query, limit: Math.min(MAX_PAGE_SIZE, limit - items.length), cursor }
    const page = await requestJson<Record<string, unknown>>(api, 'GET', path, { query: asked })
    items.push(...(page[key] as T[]))
    cursor = page.cursor as string | undefined
  } while (cursor !== undefined && items.length < limit)
  return { items, more: cursor !== undefined }
}

/** What a change says of its reason: UTF-8, byte by byte and in one line, as headers are. */
export const reasonHeader = (reason: string | undefined): Pick<RequestOptions, 'headers'> =>
  reason === undefined
    ? {}
    : { headers: { 'x-reason': Buffer.from(reason.replace(/\s+/g, ' ').trim()).toString('latin1') } }

/** What a command asks of the API it goes to. */
interface ConnectOptions extends StoreAccess {
  /** Named where it needs a process that runs. */
  liveReason?: string
}

/** The API that a command goes to: the server at `--url`, else one over the store. */
export async function connectApi(
  context: CommandContext,
  { liveReason, ...access }: ConnectOptions = {},
): Promise<ApiBackend> {
  const url = serverUrl(context)
  if (url !== undefined) return (await import('./remote.js')).createRemoteApi(context, url)
  if (liveReason !== undefined)
    throw new CommandFailure(EXIT_CODES.usage, `${liveReason}: this needs --url`, {
      code: 'USAGE',
      hint: 'name the server: --url http://127.0.0.1:8000, or HOLDFAST_URL; holdfast serve starts one',
    })
  return (await import('./local.js')).createLocalApi(context, access)
}

/** Works with an API and lets go of it. */
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
